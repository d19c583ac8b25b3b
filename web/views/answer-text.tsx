import { useLayoutEffect, useRef } from 'preact/hooks';
import { GrowingAnswer } from '../markdown/growing-answer.ts';
import { TEXTS } from '../texts.ts';
import { copyText } from './copy.ts';

/** An answer's Markdown, which may still grow. */
export function AnswerText({ text, writing }: { text: string; writing: boolean }) {
  const into = useRef<HTMLDivElement>(null);
  const answer = useRef<GrowingAnswer | undefined>(undefined);
  useLayoutEffect(() => {
    if (!into.current) return;
    answer.current ??= new GrowingAnswer(into.current, copyButton);
    answer.current.show(text, !writing);
  }, [text, writing]);
  return <div ref={into} class={writing ? 'text writing' : 'text'} />;
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
