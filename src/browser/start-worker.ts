/** A worker's script, for where `start` is refused. */
export interface WorkerScript {
  readonly script: string;
  /** The module beside which it lies. */
  readonly beside: string;
  readonly name: string;
}

/**
 * Starts a module worker. Browsers refuse those whose script comes from another origin than the page, such as a CDN's: there, a script of
 * the page's own origin imports it. `start` names the script in the form that bundlers look for.
 */
export function startWorker(start: () => Worker, { script, beside, name }: WorkerScript): Worker {
  try {
    return start();
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'SecurityError')) throw error;
    const text = `import ${JSON.stringify(new URL(script, beside).href)};`;
    const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    const worker = new Worker(url, { type: 'module', name });
    // The browser has read the script by the time that it says or fails anything.
    for (const event of ['message', 'error'])
      worker.addEventListener(event, () => URL.revokeObjectURL(url), { once: true });
    return worker;
  }
}
