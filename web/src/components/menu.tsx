// A menu that the keys reach however it was opened: the focus goes to its first item, Escape closes it and nothing else, and
// the focus comes back.
import { Menu, type MenuProps } from '@mantine/core';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';

export function PopMenu({ opened: given, onChange, ...rest }: MenuProps) {
  const [own, setOwn] = useState(false);
  const opened = given ?? own;
  const set = useRef(setOwn as (open: boolean) => void);
  set.current = onChange ?? setOwn;
  useLayoutEffect(() => {
    if (!opened) return;
    const back = document.activeElement;
    const press = (e: KeyboardEvent): void => {
      if (e.key !== 'Escape' || e.isComposing) return;
      e.preventDefault();
      e.stopPropagation();
      set.current(false);
    };
    window.addEventListener('keydown', press, true);
    return () => {
      window.removeEventListener('keydown', press, true);
      // Not when something else has it already.
      const now = document.activeElement;
      if (back instanceof HTMLElement && back.isConnected && (!now || now === document.body || now.closest('[role="menu"]'))) back.focus();
    };
  }, [opened]);
  useEffect(() => {
    if (!opened) return;
    let frame = 0;
    const look = (): void => {
      const item = document.querySelector<HTMLElement>('[role="menu"] [role^="menuitem"]:not(:disabled)');
      if (item) item.focus();
      else frame = requestAnimationFrame(look);
    };
    look();
    return () => cancelAnimationFrame(frame);
  }, [opened]);
  return <Menu {...rest} opened={opened} onChange={(open) => set.current(open)} />;
}
