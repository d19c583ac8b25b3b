import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Turn } from '../state/chat-store.ts';
import type { Conversation } from '../state/conversation.ts';
import type { ChatEngine } from '../state/engine.ts';
import type { AppState } from '../state/app-state.ts';
import { TEXTS } from '../texts.ts';
import { Act } from './act.tsx';
import { AnswerText } from './answer-text.tsx';
import { CallView } from './call-view.tsx';
import { copyText } from './copy.ts';
import {
  BackIcon,
  CodeIcon,
  CopyIcon,
  DeleteIcon,
  EditIcon,
  ForkIcon,
  ForwardIcon,
  RetryIcon,
} from './icons.tsx';

/** A turn, and what can be done with it; without an engine it can only be read and removed. */
export interface TurnProps {
  readonly state: AppState;
  readonly conversation: Conversation;
  readonly engine: ChatEngine | undefined;
  readonly turn: Turn;
}

/** One turn of the conversation. */
export function TurnView(props: TurnProps) {
  const { turn } = props;
  const [isEditing, setEditing] = useState(false);
  const [isRaw, setRaw] = useState(false);
  const isUser = turn.role === 'user';
  return (
    <li class={isUser ? 'turn said' : 'turn answer'} aria-busy={turn.state === 'writing'}>
      <span class="hidden">{isUser ? TEXTS.turn.said : TEXTS.turn.answer}</span>
      {isEditing ? (
        <Editor {...props} onEnd={() => setEditing(false)} />
      ) : (
        <>
          {isUser ? <Said turn={turn} /> : <Answer {...props} isRaw={isRaw} />}
          {turn.state !== 'writing' && (
            <TurnFoot {...props} isRaw={isRaw} onRaw={() => setRaw(!isRaw)} onEdit={() => setEditing(true)} />
          )}
        </>
      )}
    </li>
  );
}

/** A question, and the files that were said with it, which can be looked into. */
function Said({ turn: { text, attachments = [] } }: { turn: Turn }) {
  return (
    <>
      {attachments.map((file, at) => (
        <details key={at} class="attachment">
          <summary>{file.name}</summary>
          <pre tabIndex={0}>{file.text}</pre>
        </details>
      ))}
      {text !== '' && <p>{text}</p>}
    </>
  );
}

function Answer({ turn, conversation, isRaw }: TurnProps & { isRaw: boolean }) {
  const { text, state, reasoning, error, calls } = turn;
  const writing = state === 'writing';
  return (
    <>
      {reasoning !== undefined && <Reasoning turn={turn} text={reasoning} />}
      {text !== '' &&
        (isRaw ? (
          <pre class="raw" tabIndex={0}>
            {text}
          </pre>
        ) : (
          <AnswerText text={text} writing={writing} />
        ))}
      {text === '' && writing && reasoning === undefined && !calls && (
        <PromptShare conversation={conversation} />
      )}
      {writing && <Waits conversation={conversation} />}
      {calls?.map((call) => (
        <CallView key={call.id} call={call} conversation={conversation} />
      ))}
      {error && (
        <div class="error-note" role="alert">
          <strong>{text === '' ? TEXTS.turn.failed : TEXTS.turn.broken}</strong>
          <p>{error.message}</p>
          {error.fix !== undefined && <p>{error.fix}</p>}
        </div>
      )}
    </>
  );
}

/** What keeps the answer from going on. */
function Waits({ conversation }: { conversation: Conversation }) {
  const { value: waits } = conversation.waits;
  return (
    <p class="waits" role="status">
      {waits !== undefined && TEXTS.turn.waits[waits]}
    </p>
  );
}

/** How far the model has read what was said. */
function PromptShare({ conversation }: { conversation: Conversation }) {
  const { value: prompt } = conversation.prompt;
  const isLong = prompt && prompt.tokens < prompt.totalTokens;
  return (
    <div class="reads">
      <p class="thinking" aria-label={TEXTS.turn.reads} role="img" />
      {isLong && <small class="numbers">{TEXTS.turn.reading(prompt.tokens, prompt.totalTokens)}</small>}
    </div>
  );
}

/** The model's reasoning, collapsed: it is long, and not the answer. */
function Reasoning({ turn, text }: { turn: Turn; text: string }) {
  const isThinking = turn.state === 'writing' && turn.text === '';
  return (
    <details class="reasoning">
      <summary class={isThinking ? 'busy' : ''}>
        {isThinking ? TEXTS.turn.thinking : TEXTS.turn.thoughts(turn.reasoningSeconds)}
      </summary>
      <p>{text}</p>
    </details>
  );
}

interface FootProps extends TurnProps {
  readonly isRaw: boolean;
  readonly onRaw: () => void;
  readonly onEdit: () => void;
}

function TurnFoot({ state, conversation, engine, turn, isRaw, onRaw, onEdit }: FootProps) {
  const [copied, setCopied] = useState<boolean>();
  const idle = !conversation.answering.value;
  const isUser = turn.role === 'user';
  const copy = async () => setCopied(await copyText(turn.text));
  const canContinue = idle && engine && !isUser && turn.text !== '' && turn.reason !== 'stop';
  const { turn: texts } = TEXTS;
  return (
    <div class="turn-foot">
      <Branches conversation={conversation} turn={turn} />
      <Act label={isUser ? texts.copyQuestion : texts.copy} onClick={() => void copy()}>
        <CopyIcon />
      </Act>
      {!isUser && turn.text !== '' && (
        <Act label={isRaw ? texts.formatted : texts.written} onClick={onRaw}>
          <CodeIcon />
        </Act>
      )}
      {idle && engine && !isUser && (
        <Act label={texts.retry} onClick={() => void conversation.retry(engine, turn)}>
          <RetryIcon />
        </Act>
      )}
      {idle && (engine || !isUser) && (
        <Act label={texts.edit} onClick={onEdit}>
          <EditIcon />
        </Act>
      )}
      {idle && (
        <Act label={texts.remove} onClick={() => state.conversations.removeTurn(turn)}>
          <DeleteIcon />
        </Act>
      )}
      {idle && (
        <Act
          label={texts.fork}
          onClick={() => void state.conversations.duplicate(conversation.info.value.id, turn)}
        >
          <ForkIcon />
        </Act>
      )}
      {canContinue && (
        <button type="button" class="small" onClick={() => void conversation.continue(engine, turn)}>
          {texts.continue}
        </button>
      )}
      <TurnFacts turn={turn} copied={copied} />
    </div>
  );
}

/** How the answer ended, and how fast it was. */
function TurnFacts({ turn, copied }: { turn: Turn; copied: boolean | undefined }) {
  const { turn: texts } = TEXTS;
  const { tokens, firstSeconds, tokensPerSecond } = turn.pace ?? {};
  const facts = [
    copied !== undefined && (copied ? texts.copied : texts.notCopied),
    turn.state === 'stopped' && texts.stopped,
    turn.reason === 'limit' && texts.limit,
    turn.reason === 'context' && texts.context,
    tokens !== undefined && texts.tokens(tokens),
    tokensPerSecond !== undefined && texts.speed(tokensPerSecond),
    firstSeconds !== undefined && texts.first(firstSeconds),
    turn.model !== undefined && texts.by(turn.model),
  ];
  return (
    <span class="numbers" role="status">
      {facts.filter((fact) => fact !== false).join(' · ')}
    </span>
  );
}

function Branches({ conversation, turn }: { conversation: Conversation; turn: Turn }) {
  const branches = conversation.branches(turn);
  if (branches.length < 2) return null;
  const at = branches.findIndex(({ id }) => id === turn.id);
  const idle = !conversation.answering.value;
  const [before, after] = [branches[at - 1], branches[at + 1]];
  return (
    <span class="branches">
      <Act
        label={TEXTS.turn.previous}
        disabled={!before || !idle}
        onClick={() => before && conversation.show(before)}
      >
        <BackIcon />
      </Act>
      <span class="numbers" role="img" aria-label={TEXTS.turn.branch(at + 1, branches.length)}>
        {at + 1}/{branches.length}
      </span>
      <Act
        label={TEXTS.turn.next}
        disabled={!after || !idle}
        onClick={() => after && conversation.show(after)}
      >
        <ForwardIcon />
      </Act>
    </span>
  );
}

/** Another text in place of a turn's: a question is sent again, an answer stands as it was written. */
function Editor({ conversation, engine, turn, onEnd }: TurnProps & { onEnd: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const isUser = turn.role === 'user';
  const save = () => {
    const text = field.current?.value.trim() ?? '';
    if (text === '' && turn.attachments === undefined) return;
    onEnd();
    if (!isUser) conversation.rewrite(turn, text);
    else if (engine) void conversation.resend(engine, turn, text);
  };
  const cancel = () => {
    onEnd();
    // The button that began it is drawn anew.
    document.getElementById('message')?.focus();
  };
  return (
    <form
      class="editor"
      onKeyDown={({ key, isComposing }) => {
        if (key === 'Escape' && !isComposing) cancel();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea ref={field} rows={3} aria-label={TEXTS.turn.edited} defaultValue={turn.text} />
      <div class="row end">
        <button type="button" onClick={cancel}>
          {TEXTS.cancel}
        </button>
        <button type="submit" class="primary">
          {isUser ? TEXTS.turn.resend : TEXTS.turn.save}
        </button>
      </div>
    </form>
  );
}
