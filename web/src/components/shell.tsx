// The frame: top bar with breadcrumb, search box, live dot and account; rail on the left, bottom bar on a phone.
import { Menu } from '@mantine/core';
import {
  IconDeviceDesktop,
  IconFolder,
  IconHelp,
  IconHome,
  IconListDetails,
  IconLogout,
  IconMoon,
  IconSearch,
  IconServer2,
  IconStack2,
  IconSun,
  IconWifiOff,
} from '@tabler/icons-react';
import { useEffect, useState, type ReactNode } from 'react';
import { call, onReach } from '../api/call';
import { client, useUser } from '../api/queries';
import { setScheme, schemeWish, type Wish } from '../lib/scheme';
import { Link, navigate } from '../router';
import { I, IconBtn } from './bits';
import { openHelp } from './help';
import { PopMenu } from './menu';
import { openPalette } from './palette';
import './shell.css';

export interface Crumb {
  label: string;
  to?: string;
  /** Stands alone in the narrow bar of a phone. */
  onPhone?: boolean;
}
type Nav = 'home' | 'projects' | 'tasks' | 'queues' | 'workers';
const NAV: Array<{ id: Nav; label: string; to: string; icon: (size: number) => ReactNode }> = [
  { id: 'home', label: 'Home', to: '/', icon: (s) => <IconHome {...I} size={s} /> },
  { id: 'projects', label: 'Projects', to: '/projects', icon: (s) => <IconFolder {...I} size={s} /> },
  { id: 'tasks', label: 'All tasks', to: '/projects/*/tasks', icon: (s) => <IconListDetails {...I} size={s} /> },
  { id: 'queues', label: 'Queues', to: '/queues', icon: (s) => <IconStack2 {...I} size={s} /> },
  { id: 'workers', label: 'Workers', to: '/workers', icon: (s) => <IconServer2 {...I} size={s} /> },
];

export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden>
      <path d="M4 21V11a8 8 0 0 1 16 0v10" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
      <path d="M2 21h20" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
      <path
        d="M12 7.2c.4 2.4 3.9 3.6 3.9 7a3.9 3.9 0 0 1-7.8 0c0-1.5.7-2.4 1.4-3 .2 1 .6 1.4 1.1 1.5.5-1.4.3-3.6 1.4-5.5Z"
        fill="var(--ember-mark)"
      />
    </svg>
  );
}

function useReach(): boolean {
  const [ok, setOk] = useState(true);
  useEffect(() => onReach(setOk), []);
  return ok;
}
async function logOut(): Promise<void> {
  await call('auth.logout', {}).catch(() => undefined);
  client.clear();
  navigate('/login');
}
function Account() {
  const user = useUser();
  const name = user.data?.name ?? '';
  const initials =
    name
      .split(/[\s._-]+/)
      .filter(Boolean)
      .slice(0, 2)
      .map((w) => w[0]?.toUpperCase())
      .join('') || '…';
  const [wish, setWish] = useState<Wish>(schemeWish);
  const pick = (w: Wish): void => {
    setScheme(w);
    setWish(w);
  };
  return (
    <PopMenu position="bottom-end" width={200}>
      <Menu.Target>
        <button type="button" className="avatar" aria-label={`Account ${name}`}>
          {initials}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {name || 'Account'}
          {user.data?.role ? ` · ${user.data.role}` : ''}
        </Menu.Label>
        <Menu.RadioGroup value={wish} onChange={(v) => pick(v as Wish)}>
          <Menu.RadioItem value="light" rightSection={<IconSun {...I} />}>
            Light
          </Menu.RadioItem>
          <Menu.RadioItem value="dark" rightSection={<IconMoon {...I} />}>
            Dark
          </Menu.RadioItem>
          <Menu.RadioItem value="auto" rightSection={<IconDeviceDesktop {...I} />}>
            As the system
          </Menu.RadioItem>
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item
          leftSection={<IconLogout {...I} />}
          onClick={() => {
            void logOut();
          }}
        >
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </PopMenu>
  );
}

export function Shell({ nav, crumbs, title, children }: { nav: Nav; crumbs: Crumb[]; title: string; children: ReactNode }) {
  const ok = useReach();
  useEffect(() => {
    document.title = `${title} · Stoker`;
  }, [title]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <Link className="logo" to="/" aria-label="Stoker, home">
          <Logo />
        </Link>
        <nav className="crumbs" aria-label="Breadcrumb">
          {crumbs.map((c, i) => (
            <span key={i} className={i === crumbs.length - 1 ? 'cur' : c.onPhone ? 'onphone' : ''}>
              {i > 0 && <em>/</em>}
              {c.to ? <Link to={c.to}>{c.label}</Link> : <b aria-current="page">{c.label}</b>}
            </span>
          ))}
        </nav>
        <button type="button" className="palette" onClick={openPalette}>
          <IconSearch size={14} stroke={1.6} />
          <span>Search or jump to…</span>
          <kbd>Ctrl K</kbd>
        </button>
        <span className={`live${ok ? '' : ' off'}`} role="status">
          <i />
          {ok ? 'Live' : 'Offline'}
        </span>
        <IconBtn label="Help and shortcuts  ?" onClick={openHelp}>
          <IconHelp {...I} size={18} />
        </IconBtn>
        <Account />
      </header>
      <nav className="rail" aria-label="Main">
        {NAV.map((n) => (
          <Link key={n.id} to={n.to} className={n.id === nav ? 'on' : ''} aria-current={n.id === nav ? 'page' : undefined}>
            {n.icon(18)}
            <span>{n.label}</span>
          </Link>
        ))}
      </nav>
      <main className="main" id="main" tabIndex={-1}>
        {!ok && (
          <div className="offline" role="alert">
            <IconWifiOff size={15} stroke={1.8} />
            The server cannot be reached. What you see is the last known state; it comes back by itself.
          </div>
        )}
        {children}
      </main>
      <nav className="phone" aria-label="Main, phone">
        {NAV.map((n) => (
          <Link key={n.id} to={n.to} className={n.id === nav ? 'on' : ''} aria-current={n.id === nav ? 'page' : undefined}>
            {n.icon(20)}
            <span>{n.label}</span>
          </Link>
        ))}
      </nav>
    </div>
  );
}
