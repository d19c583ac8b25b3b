import type { Conversation } from '../state/conversation.ts';
import type { ChatEngine } from '../state/engine.ts';
import { TEXTS } from '../texts.ts';
import { Act } from './act.tsx';
import { DeleteIcon, EditIcon, SendIcon } from './icons.tsx';

/** The messages that wait for the end of the answer, and what can be done with them. */
export function WaitingMessages({
  conversation,
  engine,
}: {
  conversation: Conversation;
  engine: ChatEngine;
}) {
  const { waiting } = conversation;
  const { waiting: texts } = TEXTS;
  if (waiting.length === 0) return null;
  return (
    <section class="waiting" aria-label={texts.label}>
      <p class="note" role="status">
        {conversation.answering.value ? texts.label : texts.stopped}
      </p>
      <ul>
        {waiting.map((message) => (
          <li key={message.id}>
            <p>
              {message.text}
              {message.attachments && (
                <small> {message.attachments.map(({ name }) => name).join(', ')}</small>
              )}
            </p>
            <Act label={texts.now} onClick={() => void conversation.sendNow(engine, message)}>
              <SendIcon />
            </Act>
            <Act
              label={texts.takeBack}
              onClick={() => {
                conversation.takeBack(message);
                document.getElementById('message')?.focus();
              }}
            >
              <EditIcon />
            </Act>
            <Act label={texts.remove} onClick={() => conversation.removeWaiting(message.id)}>
              <DeleteIcon />
            </Act>
          </li>
        ))}
      </ul>
    </section>
  );
}
