const PREFIX = 'rocmforge draft ';

/** What was written and not sent in a conversation; '' for a conversation that has not begun. */
export function keptDraft(conversation: string): string {
  try {
    return localStorage.getItem(PREFIX + conversation) ?? '';
  } catch {
    return '';
  }
}

/** Keeps what is being written, until it is sent. */
export function keepDraft(conversation: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(PREFIX + conversation);
    else localStorage.setItem(PREFIX + conversation, text);
  } catch {
    // Storage is full or forbidden: the draft lasts until the page is closed.
  }
}
