import type { ToolCall } from '../state/chat-store.ts';
import type { Conversation } from '../state/conversation.ts';
import { codeOf, JAVASCRIPT_TOOL } from '../tools/tools.ts';
import { TEXTS } from '../texts.ts';

/** A call of a function: what it asks for, whether it may run, and what came of it. */
export function CallView({ call, conversation }: { call: ToolCall; conversation: Conversation }) {
  const { name, state, result } = call;
  const { call: texts } = TEXTS;
  const { value: consent } = conversation.consent;
  const isAsked = consent?.id === call.id;
  // Of other functions, all that is sent is shown.
  const program = name === JAVASCRIPT_TOOL.definition.function.name ? codeOf(call.arguments) : undefined;
  return (
    <details class="call" open={isAsked}>
      <summary>
        <code>{name}</code> <small>{texts.states[state]}</small>
      </summary>
      <pre tabIndex={0}>{program ?? call.arguments}</pre>
      {isAsked && (
        <>
          <p role="status">{consent.ask}</p>
          <div class="row">
            <button type="button" class="primary" onClick={() => consent.answer(true)}>
              {texts.run}
            </button>
            <button type="button" onClick={() => consent.answer(false)}>
              {texts.refuse}
            </button>
          </div>
        </>
      )}
      {result !== undefined && (
        <pre tabIndex={0} aria-label={texts.result}>
          {result}
        </pre>
      )}
    </details>
  );
}
