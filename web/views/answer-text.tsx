import { useLayoutEffect, useRef } from 'preact/hooks';
import { finish } from '../markdown/finished.ts';
import { GrowingAnswer } from '../markdown/growing-answer.ts';
import { diagramFrame } from '../tools/diagram.ts';
import { sandboxFrame } from '../tools/sandbox.ts';
import { TEXTS } from '../texts.ts';
import { copyText } from './copy.ts';

/** An answer's Markdown, which may still grow. */
export function AnswerText({ text, writing }: { text: string; writing: boolean }) {
  const into = useRef<HTMLDivElement>(null);
  const answer = useRef<GrowingAnswer | undefined>(undefined);
  useLayoutEffect(() => {
    if (!into.current) return;
    answer.current ??= new GrowingAnswer(into.current, { code: codeTools, finish });
    answer.current.show(text, !writing);
  }, [text, writing]);
  return <div ref={into} class={writing ? 'text writing' : 'text'} />;
}

/** Languages of code that is shown as what it means. */
const SHOWN = new Set(['html', 'svg', 'mermaid']);

function codeTools(code: HTMLElement, given: string): HTMLElement {
  const language = given.toLowerCase();
  const tools = document.createElement('span');
  if (SHOWN.has(language)) tools.append(showButton(code, language));
  tools.append(copyButton(code));
  return tools;
}

/** Shows what a page, a picture or a diagram in code looks like, beneath it and in a sandbox, and hides it again. */
function showButton(code: HTMLElement, language: string): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy-code';
  button.textContent = TEXTS.artifact.show;
  button.addEventListener('click', () => {
    const block = button.closest('.code');
    const shown = block?.querySelector('.artifact');
    button.textContent = shown ? TEXTS.artifact.show : TEXTS.artifact.hide;
    if (shown) return shown.remove();
    const artifact = document.createElement('div');
    artifact.className = 'artifact';
    artifact.role = 'status';
    block?.append(artifact);
    const text = code.textContent ?? '';
    if (language === 'mermaid') return void showDiagram(artifact, text);
    artifact.append(titled(sandboxFrame({ kind: 'show', text })));
  });
  return button;
}

function titled(frame: HTMLIFrameElement): HTMLIFrameElement {
  frame.title = TEXTS.artifact.title;
  return frame;
}

/** Shows a diagram, or why there is none. What draws it comes with the first one: it is many times larger than the page. */
async function showDiagram(into: HTMLElement, text: string): Promise<void> {
  into.textContent = TEXTS.artifact.loading;
  try {
    const { frame, drawn } = await diagramFrame(text);
    // It has a size only where it is shown.
    into.replaceChildren(titled(frame));
    const fault = await drawn;
    if (fault !== undefined) into.textContent = TEXTS.artifact.notDrawn(fault);
  } catch {
    into.textContent = TEXTS.artifact.absent;
  }
}

/** Copies a block of code, and says whether it did. */
function copyButton(code: HTMLElement): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy-code';
  button.textContent = TEXTS.turn.copyCode;
  button.addEventListener('click', () => {
    void copyText(code.textContent ?? '').then((isCopied) => {
      button.textContent = isCopied ? TEXTS.turn.copied : TEXTS.turn.notCopied;
    });
  });
  return button;
}
