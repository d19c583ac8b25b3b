import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import type { Conversation } from '../state/conversation.ts';
import type { ChatEngine } from '../state/engine.ts';
import { TEXTS } from '../texts.ts';
import { Announcer } from './announcer.tsx';
import { ChevronIcon } from './icons.tsx';
import { TurnView } from './turn-view.tsx';
import { WaitingMessages } from './waiting-messages.tsx';

/** Distance from the end, in pixels, within which the view follows the answer again. */
const NEAR_END = 48;

/** A conversation, and what answers it; without an engine it can be read. */
interface ConversationProps {
  readonly state: AppState;
  readonly conversation: Conversation;
  readonly engine: ChatEngine | undefined;
}

/** The turns of a conversation. The view follows the answer until the reader scrolls back. */
export function ConversationView({ state, conversation, engine }: ConversationProps) {
  const turns = conversation.turns.value;
  const isAway = useFollowing(conversation);
  return (
    <>
      {turns.length > 0 && <Turns state={state} conversation={conversation} engine={engine} />}
      {turns.length === 0 && engine && (
        <Greeting engine={engine} onPick={(text) => void conversation.send(engine, text)} />
      )}
      {engine && <WaitingMessages conversation={conversation} engine={engine} />}
      {isAway && (
        <button
          type="button"
          class="to-end"
          aria-label={TEXTS.conversation.toEnd}
          title={TEXTS.conversation.toEnd}
          onClick={toEnd}
        >
          <ChevronIcon />
        </button>
      )}
      <Announcer key={conversation.info.value.id} turn={turns.at(-1)} />
    </>
  );
}

function toEnd(): void {
  scrollTo({ top: document.documentElement.scrollHeight });
}

/** Scrolls to the end of a growing answer, unless the reader has scrolled back since; whether the end is out of sight. */
function useFollowing(conversation: Conversation): boolean {
  const follows = useRef(true);
  const [isAway, setAway] = useState(false);
  const { value: turns } = conversation.turns;
  useEffect(() => {
    let last = 0;
    const onScroll = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      const distance = scrollHeight - clientHeight - scrollTop;
      if (scrollTop < last) follows.current = false;
      if (distance < NEAR_END) follows.current = true;
      setAway(!follows.current && distance > clientHeight / 2);
      last = scrollTop;
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, []);
  useLayoutEffect(() => {
    follows.current = true;
  }, [conversation, turns.length]);
  useEffect(() => {
    if (follows.current && turns.length > 0) toEnd();
  }, [turns]);
  return isAway;
}

function Turns({ state, conversation, engine }: ConversationProps) {
  const turns = conversation.turns.value;
  const leftOut = conversation.leftOut.value;
  const { value: summary } = conversation.summary;
  const { title } = conversation.info.value;
  return (
    <>
      <h1 class="hidden">{TEXTS.conversation.with(engine?.title ?? title)}</h1>
      <ol class="turns" aria-label={TEXTS.conversation.label}>
        {turns.flatMap((turn, at) => [
          at === leftOut && at > 0 && (
            <li key="left-out" class="left-out">
              {summary === undefined ? (
                TEXTS.conversation.leftOut(leftOut)
              ) : (
                <details>
                  <summary>{TEXTS.conversation.summarized(leftOut)}</summary>
                  <p>{summary}</p>
                </details>
              )}
            </li>
          ),
          <TurnView key={turn.id} state={state} conversation={conversation} engine={engine} turn={turn} />,
        ])}
      </ol>
    </>
  );
}

function Greeting({ engine, onPick }: { engine: ChatEngine; onPick: (text: string) => void }) {
  const { greeting } = TEXTS;
  return (
    <section class="greeting">
      <h1>{greeting.title}</h1>
      <p>{greeting[engine.place](engine.title)}</p>
      <ul class="suggestions" aria-label={greeting.label}>
        {greeting.suggestions.map((text) => (
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
