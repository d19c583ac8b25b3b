import { sandboxFrame } from './sandbox.ts';

/** What a frame says of its diagram. */
type Said = { readonly height: number } | { readonly error: string };

/**
 * A frame that draws a diagram in Mermaid's language as soon as it is in the document, as high as the diagram; `drawn` resolves with
 * what is wrong with it, or undefined. Mermaid writes HTML and has had holes: it runs in the sandbox alone. Rejects if its
 * program cannot be fetched.
 */
export async function diagramFrame(
  text: string,
): Promise<{ frame: HTMLIFrameElement; drawn: Promise<string | undefined> }> {
  const response = await fetch(new URL('./later/mermaid.js', document.baseURI));
  if (!response.ok) throw new Error(`status ${response.status}`);
  const script = await response.text();
  const { port1: own, port2: theirs } = new MessageChannel();
  const frame = sandboxFrame({ kind: 'diagram', text, script, isDark: isDark() }, theirs);
  const drawn = new Promise<string | undefined>((resolve) => {
    own.onmessage = ({ data }: MessageEvent<Said>) => {
      if ('height' in data) frame.style.height = `${data.height}px`;
      own.close();
      resolve('error' in data ? data.error : undefined);
    };
  });
  return { frame, drawn };
}

function isDark(): boolean {
  const { colorScheme } = document.documentElement.style;
  return colorScheme === '' ? matchMedia('(prefers-color-scheme: dark)').matches : colorScheme === 'dark';
}
