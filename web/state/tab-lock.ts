/**
 * Holds what one tab holds at a time, until the function is called that it resolves with, or the tab ends; undefined if another
 * tab holds it. Pages over plain http cannot tell, and hold it all.
 */
export async function hold(name: string): Promise<(() => void) | undefined> {
  const { locks } = navigator as Partial<Pick<Navigator, 'locks'>>;
  if (!locks) return () => {};
  return new Promise((resolve) => {
    const held = locks.request(`rocmforge ${name}`, { ifAvailable: true }, (lock) => {
      if (lock) return new Promise<void>((release) => resolve(release));
      resolve(undefined);
      return undefined;
    });
    // Where locks are forbidden, nobody holds any.
    held.catch(() => resolve(() => {}));
  });
}
