// Copying that also works on plain http://, where navigator.clipboard does not exist.

export async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    /* refused: the old way below */
  }
  const back = document.activeElement;
  const box = document.createElement('textarea');
  box.value = text;
  box.setAttribute('readonly', '');
  box.className = 'vh';
  document.body.append(box);
  box.select();
  const ok = document.execCommand('copy');
  box.remove();
  if (back instanceof HTMLElement) back.focus();
  return ok;
}

/** Hands a text to the browser as a file. */
export function saveText(name: string, text: string, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
