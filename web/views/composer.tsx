import { useEffect, useRef, useState } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { keepDraft, keptDraft } from '../state/drafts.ts';
import type { ChatEngine } from '../state/engine.ts';
import { TEXTS } from '../texts.ts';
import { SendIcon, StopIcon } from './icons.tsx';

/** Where Enter on the screen's keyboard begins a line, as there is no Shift+Enter. */
const TOUCH = '(hover: none) and (pointer: coarse)';

/** The message input: Enter sends, Shift+Enter starts a new line, Escape stops the answer. What is not sent is kept. */
export function Composer({ state, engine }: { state: AppState; engine: ChatEngine }) {
  const conversation = state.conversations.current.value;
  const draft = conversation.turns.value.length === 0 ? '' : conversation.info.value.id;
  const [text, setText] = useState(() => keptDraft(draft));
  const field = useRef<HTMLTextAreaElement>(null);
  const answering = conversation.answering.value;
  useEffect(() => field.current?.focus(), [engine]);
  useEscape(state);
  const change = (changed: string) => {
    setText(changed);
    keepDraft(draft, changed);
  };
  const send = () => {
    // The field's own value: Enter may arrive before the last character has been rendered.
    const said = field.current?.value.trim() ?? '';
    if (!field.current || said === '' || conversation.answering.value) return;
    field.current.value = '';
    change('');
    void conversation.send(engine, said);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While an input method is composing, Enter selects its suggestion.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || matchMedia(TOUCH).matches) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      class="composer"
      aria-label={TEXTS.composer.message}
      onSubmit={(event) => {
        event.preventDefault();
        if (conversation.answering.value) conversation.stop();
        else send();
        field.current?.focus();
      }}
    >
      <div class="composer-box">
        <textarea
          ref={field}
          id="message"
          rows={1}
          value={text}
          placeholder={TEXTS.composer.message}
          aria-label={TEXTS.composer.message}
          aria-describedby="keys"
          onInput={({ currentTarget }) => change(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <SendButton answering={answering} isEmpty={text.trim() === ''} />
      </div>
      <p class="foot">
        <span id="keys" class="keys">
          {answering ? TEXTS.composer.stopKey : TEXTS.composer.keys}
        </span>
        <LiveFacts state={state} engine={engine} />
      </p>
    </form>
  );
}

function SendButton({ answering, isEmpty }: { answering: boolean; isEmpty: boolean }) {
  return (
    <button
      type="submit"
      class="send"
      aria-label={answering ? TEXTS.composer.stop : TEXTS.composer.send}
      disabled={!answering && isEmpty}
    >
      {answering ? <StopIcon /> : <SendIcon />}
    </button>
  );
}

/** Escape stops the answer wherever the focus is; in a dialog it closes the dialog, and ends a composition. */
function useEscape({ conversations, dialog }: AppState): void {
  useEffect(() => {
    const onKey = ({ key, isComposing }: KeyboardEvent) => {
      if (key === 'Escape' && !isComposing && dialog.value === undefined) conversations.current.value.stop();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [conversations, dialog]);
}

/** The speed of the answer, where it comes from, and how full the context is. */
function LiveFacts({ state, engine }: { state: AppState; engine: ChatEngine }) {
  const { value: turns } = state.conversations.current.value.turns;
  const last = turns.at(-1);
  const { context } = engine;
  const counted = turns.findLastIndex(({ usedTokens }) => usedTokens !== undefined);
  const grown = counted === turns.length - 1 ? 0 : (last?.pace?.tokens ?? 0);
  const used = (turns[counted]?.usedTokens ?? 0) + grown;
  const place = engine.place === 'server' ? TEXTS.composer.server : engine.device;
  return (
    <span class="numbers">
      {last?.pace?.tokensPerSecond !== undefined && `${TEXTS.turn.speed(last.pace.tokensPerSecond)} · `}
      {place}
      {context !== undefined && used > 0 && (
        <meter
          min={0}
          max={context}
          high={context * 0.8}
          value={Math.min(used, context)}
          aria-label={TEXTS.composer.gauge(used, context)}
          title={TEXTS.composer.gauge(used, context)}
        />
      )}
    </span>
  );
}
