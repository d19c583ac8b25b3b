import { useCallback } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { Composer } from './composer.tsx';
import { ConversationView } from './conversation-view.tsx';
import { Dialog } from './dialog.tsx';
import { DropTarget } from './drop-target.tsx';
import { ErrorNote } from './error-note.tsx';
import { ChevronIcon, NewIcon, SettingsIcon } from './icons.tsx';
import { LoadPanel } from './load-panel.tsx';
import { ModelPicker } from './model-picker.tsx';
import { SettingsDialog } from './settings-dialog.tsx';

/** The whole page. */
export function Page({ state }: { state: AppState }) {
  const { session, dialog } = state;
  const status = session.status.value;
  const onFiles = useCallback((files: readonly File[]) => void state.loadFiles(files), [state]);
  return (
    <>
      {status.kind === 'ready' && (
        <a class="skip" href="#message">
          Go to the message field
        </a>
      )}
      <Header state={state} />
      <main class={status.kind}>
        {status.kind === 'ready' && (
          <ConversationView state={state} model={status.model} title={status.title} />
        )}
        {status.kind === 'loading' && (
          <LoadPanel title={status.title} progress={status.progress} onCancel={() => session.cancel()} />
        )}
        {(status.kind === 'empty' || status.kind === 'failed') && <Welcome state={state} />}
      </main>
      {status.kind === 'ready' && <Composer state={state} model={status.model} />}
      {dialog.value === 'settings' && <SettingsDialog state={state} />}
      {dialog.value === 'models' && (
        <Dialog title="Models" kind="models" onClose={() => (dialog.value = undefined)}>
          <ModelPicker state={state} />
        </Dialog>
      )}
      <DropTarget onFiles={onFiles} />
    </>
  );
}

function Header({ state }: { state: AppState }) {
  const { session, dialog, conversation } = state;
  const status = session.status.value;
  return (
    <header class="top">
      <span class="wordmark">
        rocm<b>forge</b>
      </span>
      {status.kind === 'ready' && (
        <button type="button" class="model-button" onClick={() => (dialog.value = 'models')}>
          <span class="hidden">Model: </span>
          <span class="model-title">{status.title}</span>
          <ChevronIcon />
        </button>
      )}
      <div class="top-buttons">
        {conversation.turns.value.length > 0 && (
          <button
            type="button"
            class="quiet"
            aria-label="New conversation"
            title="New conversation"
            onClick={() => conversation.clear()}
          >
            <NewIcon />
          </button>
        )}
        <button
          type="button"
          class="quiet"
          aria-label="Settings"
          title="Settings"
          onClick={() => (dialog.value = 'settings')}
        >
          <SettingsIcon />
        </button>
      </div>
    </header>
  );
}

function Welcome({ state }: { state: AppState }) {
  const status = state.session.status.value;
  return (
    <div class="welcome">
      <h1>
        A language model,
        <br />
        in this page.
      </h1>
      <p class="lead">
        Choose a model. It runs on your own graphics card or processor; what you write and what it answers
        stay here.
      </p>
      {status.kind === 'failed' && (
        <ErrorNote title={`${status.title} was not loaded`} error={status.error} />
      )}
      <ModelPicker state={state} />
    </div>
  );
}
