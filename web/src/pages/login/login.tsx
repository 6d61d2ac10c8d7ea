// Login: access key and secret, or user name and password (same Basic header); a one-time link logs in by itself.
import { Button, PasswordInput, TextInput } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState, type SubmitEvent } from 'react';
import { ApiError, basic, call } from '../../api/call';
import { client } from '../../api/queries';
import { Logo } from '../../components/shell';
import { navigate } from '../../router';
import { nextPath } from './next';
import './login.css';

interface Trouble {
  what: string;
  next: string;
}

function enter(): void {
  client.clear();
  navigate(nextPath(location.search), { replace: true });
}
function explain(e: unknown, user: string): Trouble {
  if (e instanceof ApiError) {
    if (e.code === 0) return { what: 'The server cannot be reached', next: 'Check that it runs, then try again.' };
    if (e.code === 401 || e.code === 400)
      return {
        what: `Wrong secret for ${user}`,
        next: 'Keys are in the file the server named at its first start, or made in Settings by a colleague.',
      };
    return { what: e.message, next: `The server answered ${e.code}.` };
  }
  return { what: 'Login failed', next: e instanceof Error ? e.message : String(e) };
}

/** Takes ?code= out of the address before anything else happens, so that it stands in no history. */
function takeCode(): string | null {
  const q = new URLSearchParams(location.search);
  const code = q.get('code');
  if (!code) return null;
  q.delete('code');
  const rest = q.toString();
  history.replaceState(null, '', location.pathname + (rest ? `?${rest}` : ''));
  return code;
}

function ServerLine() {
  const modes = useQuery({
    queryKey: ['login.supported_modes'],
    queryFn: ({ signal }) => call('login.supported_modes', {}, { signal, keep401: true }),
    refetchInterval: (q) => (q.state.error ? 3_000 : false),
    retry: false,
  });
  useEffect(() => {
    if (modes.data?.authenticated) enter();
  }, [modes.data]);
  const down = modes.error instanceof ApiError && modes.error.code === 0;
  return (
    <span role="status">
      <i className={down ? 'okd down' : 'okd'} />
      {down ? 'Server not reachable, trying again' : modes.isPending ? 'Looking for the server' : 'Server reachable'}
    </span>
  );
}

export function Login() {
  const [user, setUser] = useState('');
  const [secret, setSecret] = useState('');
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [busy, setBusy] = useState(false);
  const [ended] = useState(() => new URLSearchParams(location.search).has('ended'));
  const secretBox = useRef<HTMLInputElement>(null);

  useEffect(() => {
    document.title = 'Log in · Stoker';
    const code = takeCode();
    if (!code) return;
    setBusy(true);
    call('x_login.redeem', { code }, { keep401: true }).then(enter, (e: unknown) => {
      setBusy(false);
      setTrouble(
        e instanceof ApiError && e.code === 0
          ? explain(e, '')
          : {
              what: 'This link has been used or is too old',
              next: 'Links work once. Start the server again for a new one, or log in with a key.',
            },
      );
    });
  }, []);

  const submit = async (e: SubmitEvent<HTMLFormElement>): Promise<void> => {
    e.preventDefault();
    setBusy(true);
    setTrouble(null);
    try {
      await call('auth.login', {}, { headers: { Authorization: basic(user.trim(), secret) }, keep401: true });
      enter();
    } catch (err) {
      setTrouble(explain(err, user.trim()));
      setBusy(false);
      secretBox.current?.select();
      secretBox.current?.focus();
    }
  };
  return (
    <div className="login">
      <main className="lcard">
        <div className="lh">
          <Logo size={32} />
          <div>
            <h1>Stoker</h1>
            <p>{location.host}</p>
          </div>
        </div>
        {!trouble && ended && (
          <p className="lnote" role="status">
            Your session has ended. Log in again and you come back to where you were.
          </p>
        )}
        {trouble && (
          <div className="lerr" role="alert">
            <IconAlertCircle size={16} stroke={1.8} />
            <div>
              <b>{trouble.what}</b>
              <span>{trouble.next}</span>
            </div>
          </div>
        )}
        <form
          onSubmit={(e) => {
            void submit(e);
          }}
        >
          <TextInput
            label="User name or access key"
            value={user}
            onChange={(e) => setUser(e.currentTarget.value)}
            autoComplete="username"
            autoCapitalize="off"
            spellCheck={false}
            required
            withAsterisk={false}
            autoFocus
          />
          <PasswordInput
            ref={secretBox}
            label="Password or secret key"
            value={secret}
            onChange={(e) => setSecret(e.currentTarget.value)}
            autoComplete="current-password"
            required
            withAsterisk={false}
            error={!!trouble}
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the secret', tabIndex: 0 }}
          />
          <Button type="submit" variant="filled" size="md" fullWidth disabled={busy}>
            {busy ? 'Logging in…' : 'Log in'}
          </Button>
        </form>
      </main>
      <footer className="lfoot">
        <ServerLine />
      </footer>
    </div>
  );
}
