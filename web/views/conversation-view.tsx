import { useEffect, useRef } from 'preact/hooks';
import type { BrowserModel } from '../../src/browser/index.ts';
import type { AppState } from '../state/app-state.ts';
import { Announcer } from './announcer.tsx';
import { TurnView } from './turn-view.tsx';

/** Suggestions for a first message. */
const SUGGESTIONS = ['Hello! Who are you?', 'What is the capital of France?', 'Write a short poem.'];

/** Distance from the end, in pixels, within which the view follows the answer. */
const NEAR_END = 120;

/** A conversation and its model. */
interface ConversationProps {
  readonly state: AppState;
  readonly model: BrowserModel;
  readonly title: string;
}

/** The turns of a conversation. The view follows the answer unless the reader has scrolled away from the end. */
export function ConversationView({ state, model, title }: ConversationProps) {
  const { conversation } = state;
  const turns = conversation.turns.value;
  const follows = useRef(true);
  useEffect(() => {
    const onScroll = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      follows.current = scrollHeight - clientHeight - scrollTop < NEAR_END;
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, []);
  useEffect(() => {
    if (turns.at(-1)?.role === 'user') follows.current = true;
    if (follows.current && turns.length > 0) scrollTo({ top: document.documentElement.scrollHeight });
  }, [turns]);
  return (
    <>
      {turns.length === 0 ? (
        <Greeting name={title} onPick={(text) => void conversation.send(model, text)} />
      ) : (
        <Turns state={state} model={model} title={title} />
      )}
      <Announcer turn={turns.at(-1)} />
    </>
  );
}

function Turns({ state: { conversation }, model, title }: ConversationProps) {
  const turns = conversation.turns.value;
  const last = turns.at(-1);
  const retry = conversation.answering.value ? undefined : () => void conversation.retry(model);
  return (
    <>
      <h1 class="hidden">Conversation with {title}</h1>
      <ol class="turns" aria-label="Conversation">
        {turns.map((turn) => (
          <TurnView key={turn.id} turn={turn} onRetry={turn === last ? retry : undefined} />
        ))}
      </ol>
    </>
  );
}

function Greeting({ name, onPick }: { name: string; onPick: (text: string) => void }) {
  return (
    <section class="greeting">
      <h1>Say something.</h1>
      <p>{name} runs on this device. Nothing you write leaves it.</p>
      <ul class="suggestions" aria-label="Suggestions">
        {SUGGESTIONS.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => onPick(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
