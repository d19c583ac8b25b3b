import { useEffect, useRef, useState } from 'preact/hooks';
import type { BrowserModel } from '../../src/browser/index.ts';
import type { AppState } from '../state/app-state.ts';
import { SendIcon, StopIcon } from './icons.tsx';

/** The message input: Enter sends, Shift+Enter starts a new line, Escape stops the answer. */
export function Composer({ state, model }: { state: AppState; model: BrowserModel }) {
  const { conversation } = state;
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const answering = conversation.answering.value;
  useEffect(() => field.current?.focus(), [model]);
  useEscape(state);
  const send = () => {
    // The field's own value: Enter may arrive before the last character has been rendered.
    const said = field.current?.value.trim() ?? '';
    if (!field.current || said === '' || conversation.answering.value) return;
    field.current.value = '';
    setText('');
    void conversation.send(model, said);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While an input method is composing, Enter selects its suggestion.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      class="composer"
      aria-label="Message"
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
          placeholder="Message"
          aria-label="Message"
          aria-describedby="keys"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <button
          type="submit"
          class="send"
          aria-label={answering ? 'Stop' : 'Send'}
          disabled={!answering && text.trim() === ''}
        >
          {answering ? <StopIcon /> : <SendIcon />}
        </button>
      </div>
      <p class="foot">
        <span id="keys" class="keys">
          {answering ? 'Escape stops' : 'Enter sends, Shift+Enter begins a line'}
        </span>
        <LivePace state={state} model={model} />
      </p>
    </form>
  );
}

/** Escape stops the answer wherever the focus is; in a dialog, it closes the dialog. */
function useEscape({ conversation, dialog }: AppState): void {
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent) => {
      if (key === 'Escape' && dialog.value === undefined) conversation.stop();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [conversation, dialog]);
}

function LivePace({ state, model }: { state: AppState; model: BrowserModel }) {
  const pace = state.conversation.turns.value.at(-1)?.pace;
  const { backend } = model.device.info;
  return (
    <span class="numbers">
      {pace?.tokensPerSecond !== undefined && `${pace.tokensPerSecond.toFixed(1)} tokens/s · `}
      {backend === 'webgpu' ? 'WebGPU' : 'CPU'}
    </span>
  );
}
