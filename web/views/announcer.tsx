import { useEffect, useRef, useState } from 'preact/hooks';
import type { Turn } from '../state/chat-store.ts';
import { TEXTS } from '../texts.ts';

/** The end of a sentence or a line. */
const SENTENCE_END = /[.!?…]["”’)]*\s|[。！？\n]/g;

/** What was said long ago leaves, so that a long answer does not grow twice. */
const MOST_SENTENCES = 100;

/**
 * Announces answers to screen readers sentence by sentence as they are generated: announcing single tokens would
 * interrupt them constantly, and announcing whole answers would be late.
 */
export function Announcer({ turn }: { turn: Turn | undefined }) {
  const [since] = useState(Date.now);
  const log = useRef<HTMLDivElement>(null);
  const said = useRef({ id: '', length: 0 });
  useEffect(() => {
    if (turn?.role !== 'assistant' || !log.current) return;
    if (said.current.id !== turn.id) {
      // What had been written before this conversation was opened is not said again.
      const length = turn.at >= since ? 0 : turn.text.length;
      said.current = { id: turn.id, length };
      log.current.replaceChildren();
    }
    const rest = turn.text.slice(said.current.length);
    const end = turn.state === 'writing' ? lastSentenceEnd(rest) : rest.length;
    if (end === 0) return;
    said.current.length += end;
    // Without drawing those that are there again: an answer has thousands.
    log.current.appendChild(document.createElement('p')).textContent = rest.slice(0, end);
    if (log.current.childElementCount > MOST_SENTENCES) log.current.firstChild?.remove();
  }, [turn]);
  return <div ref={log} class="hidden" role="log" aria-live="polite" aria-label={TEXTS.turn.live} />;
}

function lastSentenceEnd(text: string): number {
  const last = [...text.matchAll(SENTENCE_END)].at(-1);
  return last ? last.index + last[0].length : 0;
}
