import { useLayoutEffect, useRef } from 'preact/hooks';
import { finish } from '../markdown/finished.ts';
import { GrowingAnswer } from '../markdown/growing-answer.ts';
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

/** Languages of code that a browser shows. */
const SHOWN = new Set(['html', 'svg']);

function codeTools(code: HTMLElement, language: string): HTMLElement {
  const tools = document.createElement('span');
  if (SHOWN.has(language.toLowerCase())) tools.append(showButton(code));
  tools.append(copyButton(code));
  return tools;
}

/** Shows what a page or a picture in code looks like, beneath it and in a sandbox, and hides it again. */
function showButton(code: HTMLElement): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy-code';
  button.textContent = TEXTS.artifact.show;
  button.addEventListener('click', () => {
    const block = button.closest('.code');
    const shown = block?.querySelector('iframe');
    button.textContent = shown ? TEXTS.artifact.show : TEXTS.artifact.hide;
    if (shown) return shown.remove();
    const frame = sandboxFrame('show', code.textContent ?? '');
    frame.title = TEXTS.artifact.title;
    block?.append(frame);
  });
  return button;
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
