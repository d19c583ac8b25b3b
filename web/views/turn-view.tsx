import { useMemo, useState } from 'preact/hooks';
import type { Turn } from '../state/conversation.ts';
import { ErrorNote } from './error-note.tsx';
import { CopyIcon, RetryIcon } from './icons.tsx';
import { renderMarkdown } from './markdown.ts';

/** One turn of the conversation. `onRetry` is given for the answer that can be regenerated. */
export function TurnView({ turn, onRetry }: { turn: Turn; onRetry: (() => void) | undefined }) {
  if (turn.role === 'user') {
    return (
      <li class="turn said">
        <span class="hidden">You said: </span>
        <p>{turn.text}</p>
      </li>
    );
  }
  return (
    <li class="turn answer" aria-busy={turn.state === 'writing'}>
      <span class="hidden">Answer: </span>
      {turn.reasoning !== undefined && <Reasoning turn={turn} text={turn.reasoning} />}
      <AnswerText turn={turn} />
      {turn.state === 'failed' && <ErrorNote title="No answer" error={turn.error} />}
      {turn.state !== 'writing' && <AnswerFoot turn={turn} onRetry={onRetry} />}
    </li>
  );
}

/** The model's reasoning, collapsed: it is long, and not the answer. */
function Reasoning({ turn, text }: { turn: Turn; text: string }) {
  const isThinking = turn.state === 'writing' && turn.text === '';
  return (
    <details class="reasoning">
      <summary class={isThinking ? 'busy' : ''}>{isThinking ? 'Thinking…' : 'Thoughts'}</summary>
      <p>{text}</p>
    </details>
  );
}

function AnswerText({ turn: { text, state, reasoning } }: { turn: Turn }) {
  const writing = state === 'writing';
  const html = useMemo(() => ({ __html: renderMarkdown(text) }), [text]);
  const reads = writing && reasoning === undefined;
  if (text === '') return reads ? <p class="thinking" aria-label="The model reads" role="img" /> : null;
  return <div class={writing ? 'text writing' : 'text'} dangerouslySetInnerHTML={html} />;
}

function AnswerFoot({ turn, onRetry }: { turn: Turn; onRetry: (() => void) | undefined }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(turn.text);
    setCopied(true);
  };
  const { tokens = 0, tokensPerSecond } = turn.pace ?? {};
  return (
    <div class="answer-foot">
      <button
        type="button"
        class="quiet"
        aria-label="Copy the answer"
        title="Copy"
        onClick={() => void copy()}
      >
        <CopyIcon />
      </button>
      {onRetry && (
        <button type="button" class="quiet" aria-label="Answer again" title="Answer again" onClick={onRetry}>
          <RetryIcon />
        </button>
      )}
      <span class="numbers">
        {copied && 'Copied · '}
        {turn.state === 'stopped' && 'Stopped · '}
        {tokens} {tokens === 1 ? 'token' : 'tokens'}
        {tokensPerSecond !== undefined && ` · ${tokensPerSecond.toFixed(1)} tokens/s`}
      </span>
    </div>
  );
}
