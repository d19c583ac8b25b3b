import { useCallback, useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { TEXTS } from '../texts.ts';
import { Composer } from './composer.tsx';
import { ConversationDialog, ConversationList } from './conversation-list.tsx';
import { ConversationView } from './conversation-view.tsx';
import { Dialog } from './dialog.tsx';
import { DropTarget } from './drop-target.tsx';
import { ErrorNote } from './error-note.tsx';
import { ChevronIcon, CloseIcon, ListIcon, NewIcon, SettingsIcon } from './icons.tsx';
import { LoadPanel } from './load-panel.tsx';
import { ModelPicker } from './model-picker.tsx';
import { SettingsDialog } from './settings-dialog.tsx';

/** The whole page. */
export function Page({ state }: { state: AppState }) {
  const { session, conversations } = state;
  const status = session.status.value;
  const conversation = conversations.current.value;
  const onFiles = useCallback((files: readonly File[]) => void state.takeFiles(files), [state]);
  useShortcuts(state);
  const engine = status.kind === 'ready' ? status.engine : undefined;
  const hasTurns = conversation.turns.value.length > 0;
  const kind = hasTurns && status.kind !== 'loading' ? 'ready' : status.kind;
  return (
    <>
      {engine && (
        <a class="skip" href="#message" onClick={toMessage}>
          {TEXTS.skip}
        </a>
      )}
      <Header state={state} />
      <div class="beside">
        <aside>
          <ConversationList state={state} />
        </aside>
        <div class="column">
          <main class={kind}>
            {status.kind === 'loading' && (
              <LoadPanel
                title={status.title}
                progress={status.progress}
                pause={status.pause}
                onPause={() => session.pause()}
                onResume={() => void session.reload()}
                onCancel={() => session.cancel()}
              />
            )}
            {kind === 'ready' && (
              <ConversationView state={state} conversation={conversation} engine={engine} />
            )}
            {(kind === 'empty' || kind === 'failed') && <Welcome state={state} />}
          </main>
          {hasTurns && status.kind === 'failed' && <LoadFailure title={status.title} error={status.error} />}
          {engine && <Composer key={conversation.info.value.id} state={state} engine={engine} />}
        </div>
      </div>
      <OpenDialog state={state} />
      <Notice state={state} />
      <DropTarget onFiles={onFiles} />
    </>
  );
}

/** What keys do with Control or Command, as on llama.cpp's page. */
const SHORTCUTS: Readonly<Record<string, (state: AppState) => void>> = {
  k: (state) => {
    const beside = document.querySelector<HTMLElement>('aside input[type=search]');
    // On narrow screens the list is a dialog.
    if (beside?.checkVisibility()) beside.focus();
    else state.dialog.value = { kind: 'conversations', isSearch: true };
  },
  'shift+o': ({ conversations }) => {
    // What is looked for is left, for the message.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    conversations.begin();
  },
  'shift+e': (state) => {
    const id = keptId(state);
    if (id !== undefined) state.dialog.value = { kind: 'conversation', id };
  },
  'shift+d': (state) => {
    const id = keptId(state);
    if (id !== undefined) void state.conversations.remove(id);
  },
  'shift+arrowup': (state) => openBeside(state, -1),
  'shift+arrowdown': (state) => openBeside(state, 1),
};

/** Opens the conversation that is so many places further down the list than the open one. */
function openBeside({ conversations }: AppState, places: number): void {
  const { value: list } = conversations.list;
  const { id: open } = conversations.current.value.info.value;
  const at = list.findIndex(({ id }) => id === open);
  const beside = list[at < 0 ? 0 : at + places];
  if (beside) void conversations.open(beside.id);
}

/** The open conversation; undefined as long as nothing was said in it. */
function keptId({ conversations }: AppState): string | undefined {
  const { turns, info } = conversations.current.value;
  return turns.value.length > 0 ? info.value.id : undefined;
}

function useShortcuts(state: AppState): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || state.dialog.value !== undefined) return;
      const act = SHORTCUTS[(event.shiftKey ? 'shift+' : '') + event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      act(state);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [state]);
}

/** The address stays the conversation's. */
function toMessage(event: Event): void {
  event.preventDefault();
  document.getElementById('message')?.focus();
}

function OpenDialog({ state }: { state: AppState }) {
  const { dialog } = state;
  const close = () => (dialog.value = undefined);
  const open = dialog.value;
  if (open?.kind === 'settings') return <SettingsDialog state={state} />;
  if (open?.kind === 'conversation') return <ConversationDialog state={state} id={open.id} />;
  if (open?.kind === 'models') {
    return (
      <Dialog title={TEXTS.models} kind="models" onClose={close}>
        <ModelPicker state={state} />
      </Dialog>
    );
  }
  if (open?.kind === 'conversations') {
    return (
      <Dialog title={TEXTS.conversations} kind="conversations" onClose={close}>
        <ConversationList state={state} isSearch={open.isSearch ?? false} />
      </Dialog>
    );
  }
  return null;
}

function Header({ state }: { state: AppState }) {
  const { session, dialog, conversations } = state;
  const status = session.status.value;
  const hasTurns = conversations.current.value.turns.value.length > 0;
  const title = status.kind === 'ready' ? status.title : TEXTS.chooseModel;
  return (
    <header class="top">
      <button
        type="button"
        class="quiet narrow"
        aria-label={TEXTS.conversations}
        title={TEXTS.conversations}
        onClick={() => (dialog.value = { kind: 'conversations' })}
      >
        <ListIcon />
      </button>
      <span class="wordmark">
        rocm<b>forge</b>
      </span>
      {(status.kind === 'ready' || (hasTurns && status.kind !== 'loading')) && (
        <button type="button" class="model-button" onClick={() => (dialog.value = { kind: 'models' })}>
          <span class="hidden">{TEXTS.model}</span>
          <span class="model-title">{title}</span>
          <ChevronIcon />
        </button>
      )}
      <div class="top-buttons">
        {hasTurns && (
          <button
            type="button"
            class="quiet"
            aria-label={TEXTS.newConversation}
            title={TEXTS.newConversation}
            onClick={() => conversations.begin()}
          >
            <NewIcon />
          </button>
        )}
        <button
          type="button"
          class="quiet"
          aria-label={TEXTS.settings}
          title={TEXTS.settings}
          onClick={() => (dialog.value = { kind: 'settings' })}
        >
          <SettingsIcon />
        </button>
      </div>
    </header>
  );
}

/** What is said in passing: what was removed, with what brings it back, or what became of a file. */
function Notice({ state: { conversations, notice } }: { state: AppState }) {
  const removed = conversations.removed.value;
  const said = notice.value;
  if (!removed && !said) return <div role="status" />;
  const dismiss = () => {
    conversations.removed.value = undefined;
    notice.value = undefined;
  };
  return (
    <div class="notice" role="status">
      {removed ? (
        <>
          <span>{TEXTS.removed[removed.what]}</span>
          <button type="button" class="small" onClick={() => conversations.undo()}>
            {TEXTS.undo}
          </button>
        </>
      ) : (
        said && (
          <span>
            <strong>{said.title}</strong> {said.text}
          </span>
        )
      )}
      <button type="button" class="quiet" aria-label={TEXTS.dismiss} onClick={dismiss}>
        <CloseIcon />
      </button>
    </div>
  );
}

function LoadFailure({ title, error }: { title: string; error: unknown }) {
  return (
    <div class="beneath">
      <ErrorNote title={TEXTS.welcome.notLoaded(title)} error={error} />
    </div>
  );
}

function Welcome({ state }: { state: AppState }) {
  const status = state.session.status.value;
  const { welcome } = TEXTS;
  return (
    <div class="welcome">
      <h1>
        {welcome.title[0]}
        <br />
        {welcome.title[1]}
      </h1>
      <p class="lead">{welcome.lead}</p>
      {status.kind === 'failed' && <ErrorNote title={welcome.notLoaded(status.title)} error={status.error} />}
      <ModelPicker state={state} />
    </div>
  );
}
