/** Set once the page has reloaded to become isolated, which is tried only once. */
const TRIED = 'rocmforge isolated';

/**
 * Makes the page available offline. If its server does not isolate it, the service worker does from the second load on;
 * without a GPU, models run on one thread without isolation, so the page reloads itself, unless it is in use. If the worker cannot start, the page
 * works online only.
 */
export async function startServiceWorker(isInUse: () => boolean): Promise<void> {
  const { serviceWorker, gpu } = navigator as Partial<Pick<Navigator, 'serviceWorker' | 'gpu'>>;
  if (!serviceWorker) return;
  const controlled = new Promise<void>((resolve) => {
    if (serviceWorker.controller) resolve();
    else serviceWorker.addEventListener('controllerchange', () => resolve(), { once: true });
  });
  try {
    await serviceWorker.register('./service-worker.js');
    if (globalThis.crossOriginIsolated || sessionStorage.getItem(TRIED)) return;
    // A browser may have WebGPU, and no graphics card for it.
    if (await gpu?.requestAdapter()) return;
    await controlled;
    if (isInUse()) return;
    sessionStorage.setItem(TRIED, 'yes');
    location.reload();
  } catch {
    // Forbidden, or out of storage.
  }
}
