/** How a program in the sandbox ended. */
export interface SandboxResult {
  readonly isFailed: boolean;
  /** What it wrote and returned, or its error. */
  readonly text: string;
}

/** What a sandbox does with what a model wrote. */
export type SandboxTask =
  /** Runs a program in a worker. */
  | { readonly kind: 'run'; readonly text: string }
  /** Shows a document. */
  | { readonly kind: 'show'; readonly text: string }
  /** Shows a diagram, by Mermaid, whose program is `script`. */
  | { readonly kind: 'diagram'; readonly text: string; readonly script: string; readonly isDark: boolean };

/** A frame for what a model wrote: scripts run in an origin of their own, without network, storage or access to this page. */
export function sandboxFrame(task: SandboxTask, port?: MessagePort): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.src = new URL('./sandbox.html', document.baseURI).href;
  const post = () => frame.contentWindow?.postMessage(task, '*', port ? [port] : []);
  frame.addEventListener('load', post, { once: true });
  return frame;
}

/** The time that a program may take. */
const MOST_MILLISECONDS = 10_000;

/** Runs JavaScript. Resolves with `isFailed` if it throws or takes too long; rejects if it is aborted. Both end it. */
export async function runInSandbox(
  code: string,
  { signal, tooLong }: { signal: AbortSignal; tooLong: string },
): Promise<SandboxResult> {
  signal.throwIfAborted();
  const { port1: own, port2: theirs } = new MessageChannel();
  const frame = sandboxFrame({ kind: 'run', text: code }, theirs);
  frame.hidden = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise<SandboxResult>((resolve, reject) => {
      own.onmessage = ({ data }: MessageEvent<SandboxResult>) => resolve(data);
      timer = setTimeout(() => resolve({ isFailed: true, text: tooLong }), MOST_MILLISECONDS);
      signal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')), {
        once: true,
      });
      document.body.append(frame);
    });
  } finally {
    clearTimeout(timer);
    own.close();
    // The worker ends with its frame.
    frame.remove();
  }
}
