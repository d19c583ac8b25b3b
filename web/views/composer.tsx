import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Attachment } from '../attachments/read-attachment.ts';
import type { AppState } from '../state/app-state.ts';
import type { Conversation } from '../state/conversation.ts';
import type { ChatEngine } from '../state/engine.ts';
import { TEXTS } from '../texts.ts';
import { Act } from './act.tsx';
import { AttachIcon, CloseIcon, SendIcon, StopIcon } from './icons.tsx';

/** Where Enter on the screen's keyboard begins a line, as there is no Shift+Enter. */
const TOUCH = '(hover: none) and (pointer: coarse)';

/** What a long text is called that was pasted. */
const PASTED = 'pasted.txt';

/**
 * The message input: Enter sends, Shift+Enter starts a new line, Escape stops the answer. What is not sent is kept, and what is sent
 * during an answer waits for its end.
 */
export function Composer({ state, engine }: { state: AppState; engine: ChatEngine }) {
  const conversation = state.conversations.current.value;
  const { value: text } = conversation.draft;
  const field = useRef<HTMLTextAreaElement>(null);
  const answering = conversation.answering.value;
  useFocus(field, engine);
  useEscape(state);
  const send = () => {
    // The field's own value: Enter may arrive before the last character has been rendered.
    const said = field.current?.value.trim() ?? '';
    const isEmpty = said === '' && conversation.attached.value.length === 0;
    if (!field.current || isEmpty) return;
    field.current.value = '';
    conversation.write('');
    void conversation.send(engine, said);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isSendKey(event)) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      class="composer"
      aria-label={TEXTS.composer.message}
      onSubmit={(event) => {
        event.preventDefault();
        send();
        field.current?.focus();
      }}
    >
      <Attachments conversation={conversation} />
      <div class="composer-box">
        <AttachButton onFiles={(files) => void state.takeFiles(files)} />
        <textarea
          ref={field}
          id="message"
          rows={1}
          value={text}
          placeholder={TEXTS.composer.message}
          aria-label={TEXTS.composer.message}
          aria-describedby="keys"
          onInput={({ currentTarget }) => conversation.write(currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => takePasted(state, event)}
        />
        <SendButtons
          answering={answering}
          isEmpty={text.trim() === '' && conversation.attached.value.length === 0}
          onStop={() => {
            conversation.stop();
            field.current?.focus();
          }}
        />
      </div>
      <Foot state={state} engine={engine} />
    </form>
  );
}

/** Which keys do what, and how the answer is coming on. */
function Foot({ state, engine }: { state: AppState; engine: ChatEngine }) {
  const { value: answering } = state.conversations.current.value.answering;
  return (
    <p class="foot">
      <span id="keys" class="keys">
        {answering ? TEXTS.composer.stopKey : TEXTS.composer.keys}
      </span>
      <LiveFacts state={state} engine={engine} />
    </p>
  );
}

/** The code of keys that an input method takes: where Safari says that a composition has ended already. */
const TAKEN_KEY = 229;

/** Enter, but in an input method, where it selects a suggestion. */
function isSendKey({ key, keyCode, shiftKey, isComposing }: KeyboardEvent): boolean {
  const isTaken = isComposing || keyCode === TAKEN_KEY;
  return key === 'Enter' && !shiftKey && !isTaken && !matchMedia(TOUCH).matches;
}

/** Takes pasted files, and long texts as files; some programs copy text as a picture, too, and then the text is meant. */
function takePasted(state: AppState, event: ClipboardEvent): void {
  const { pastedFile } = state.settings.value;
  const text = event.clipboardData?.getData('text/plain') ?? '';
  const isLong = pastedFile > 0 && text.length > pastedFile;
  const files = isLong ? [new File([text], PASTED)] : [...(event.clipboardData?.files ?? [])];
  if (files.length === 0 || (text !== '' && !isLong)) return;
  event.preventDefault();
  void state.takeFiles(files);
}

function AttachButton({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
  const chooser = useRef<HTMLInputElement>(null);
  const label = TEXTS.attachment.attach;
  return (
    <>
      <Act label={label} onClick={() => chooser.current?.click()}>
        <AttachIcon />
      </Act>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
    </>
  );
}

/** The files that go with the next message, with about how much of the context each takes. */
function Attachments({ conversation }: { conversation: Conversation }) {
  const { attached } = conversation;
  const remove = (file: Attachment) => (attached.value = attached.value.filter((of) => of !== file));
  return (
    <div aria-live="polite">
      {attached.value.length > 0 && (
        <ul class="attachments" aria-label={TEXTS.attachment.label}>
          {attached.value.map((file, at) => (
            <li key={at}>
              <span>{file.name}</span>
              <small class="numbers">{TEXTS.attachment.about(conversation.tokensOf([file]))}</small>
              <button
                type="button"
                class="quiet"
                aria-label={TEXTS.attachment.remove(file.name)}
                onClick={() => remove(file)}
              >
                <CloseIcon />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Stops the answer while there is one; sends what is written, then to wait for the answer's end. */
function SendButtons(props: { answering: boolean; isEmpty: boolean; onStop: () => void }) {
  const { answering, isEmpty, onStop } = props;
  const { composer: texts } = TEXTS;
  const send = answering ? texts.sendLater : texts.send;
  return (
    <>
      {answering && (
        <button type="button" class="send" aria-label={texts.stop} title={texts.stop} onClick={onStop}>
          <StopIcon />
        </button>
      )}
      {(!answering || !isEmpty) && (
        <button type="submit" class="send" aria-label={send} title={send} disabled={isEmpty}>
          <SendIcon />
        </button>
      )}
    </>
  );
}

/**
 * Moves the focus to the message when it appears, unless the person is writing elsewhere. Before what is typed next: an effect
 * would run after the next frame, and take the focus from where it has gone since.
 */
function useFocus(field: RefObject<HTMLTextAreaElement | null>, engine: ChatEngine): void {
  useLayoutEffect(() => {
    if (!document.activeElement?.matches('input, textarea')) field.current?.focus();
  }, [engine]);
}

/** Escape stops the answer wherever the focus is; in a dialog it closes the dialog, and ends a composition. */
function useEscape({ conversations, dialog }: AppState): void {
  useLayoutEffect(() => {
    const onKey = ({ key, isComposing }: KeyboardEvent) => {
      if (key === 'Escape' && !isComposing && dialog.value === undefined) conversations.current.value.stop();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [conversations, dialog]);
}

/** The speed of the answer, where it comes from, and how full the context is. */
function LiveFacts({ state, engine }: { state: AppState; engine: ChatEngine }) {
  const { value: conversation } = state.conversations.current;
  const { value: turns } = conversation.turns;
  const last = turns.at(-1);
  const { context } = engine;
  const counted = turns.findLastIndex(({ usedTokens }) => usedTokens !== undefined);
  const grown = counted === turns.length - 1 ? 0 : (last?.pace?.tokens ?? 0);
  const { value: attached } = conversation.attached;
  const added = attached.length > 0 ? conversation.tokensOf(attached) : 0;
  const used = (turns[counted]?.usedTokens ?? 0) + grown + added;
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
