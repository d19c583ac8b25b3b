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
  const [sentences, setSentences] = useState<readonly { at: number; text: string }[]>([]);
  const said = useRef({ id: '', length: 0 });
  useEffect(() => {
    if (turn?.role !== 'assistant') return;
    if (said.current.id !== turn.id) {
      // What had been written before this conversation was opened is not said again.
      const length = turn.at >= since ? 0 : turn.text.length;
      said.current = { id: turn.id, length };
      setSentences([]);
    }
    const rest = turn.text.slice(said.current.length);
    const end = turn.state === 'writing' ? lastSentenceEnd(rest) : rest.length;
    if (end === 0) return;
    const sentence = { at: said.current.length, text: rest.slice(0, end) };
    said.current.length += end;
    setSentences((before) => [...before, sentence].slice(-MOST_SENTENCES));
  }, [turn]);
  return (
    <div class="hidden" role="log" aria-live="polite" aria-label={TEXTS.turn.live}>
      {sentences.map(({ at, text }) => (
        <p key={at}>{text}</p>
      ))}
    </div>
  );
}

function lastSentenceEnd(text: string): number {
  const last = [...text.matchAll(SENTENCE_END)].at(-1);
  return last ? last.index + last[0].length : 0;
}
