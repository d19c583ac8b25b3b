/** Set when the page was loaded again for the sake of isolation, which is tried once. */
const TRIED = 'rocmforge isolated';

/**
 * Lets the page open without a network. Where its server does not isolate it, the service worker does from the second load on;
 * without a GPU the page needs that to run anything, so it loads itself again. Without the worker it only works online.
 */
export async function startServiceWorker(): Promise<void> {
  const { serviceWorker, gpu } = navigator as Partial<Pick<Navigator, 'serviceWorker' | 'gpu'>>;
  if (!serviceWorker) return;
  const controlled = new Promise<void>((resolve) => {
    if (serviceWorker.controller) resolve();
    else serviceWorker.addEventListener('controllerchange', () => resolve(), { once: true });
  });
  try {
    await serviceWorker.register('./service-worker.js');
    if (globalThis.crossOriginIsolated || gpu || sessionStorage.getItem(TRIED)) return;
    await controlled;
    sessionStorage.setItem(TRIED, 'yes');
    location.reload();
  } catch {
    // Forbidden, or there is no room for it.
  }
}
