import { useEffect, useRef, useState } from 'preact/hooks';
import type { Turn } from '../state/conversation.ts';

/** The end of a sentence or a line. */
const SENTENCE_END = /[.!?…]["”’)]*\s|[。！？\n]/g;

/**
 * Announces answers to screen readers sentence by sentence as they are generated: announcing single tokens would
 * interrupt them constantly, and announcing whole answers would be late.
 */
export function Announcer({ turn }: { turn: Turn | undefined }) {
  const [sentences, setSentences] = useState<readonly string[]>([]);
  const said = useRef({ id: -1, length: 0 });
  useEffect(() => {
    if (turn?.role !== 'assistant') return;
    if (said.current.id !== turn.id) {
      said.current = { id: turn.id, length: 0 };
      setSentences([]);
    }
    const rest = turn.text.slice(said.current.length);
    const end = turn.state === 'writing' ? lastSentenceEnd(rest) : rest.length;
    if (end === 0) return;
    said.current.length += end;
    setSentences((before) => [...before, rest.slice(0, end)]);
  }, [turn]);
  return (
    <div class="hidden" role="log" aria-live="polite" aria-label="The answer as it is written">
      {sentences.map((sentence, index) => (
        <p key={index}>{sentence}</p>
      ))}
    </div>
  );
}

function lastSentenceEnd(text: string): number {
  const last = [...text.matchAll(SENTENCE_END)].at(-1);
  return last ? last.index + last[0].length : 0;
}
