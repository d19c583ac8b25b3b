/** Copies a text; false if the browser does not allow it. Pages over plain http have no clipboard but the older one. */
export async function copyText(text: string): Promise<boolean> {
  const { clipboard } = navigator as Partial<Pick<Navigator, 'clipboard'>>;
  try {
    if (clipboard) {
      await clipboard.writeText(text);
      return true;
    }
  } catch {
    // Not allowed here: the older way may be.
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'hidden';
  const before = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

/** Saves a text as a file of the person's. */
export function saveFile(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The download has begun by then; the address would hold the text as long as the page is open.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
