import { useRef, useState } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import type { ConversationInfo } from '../state/chat-store.ts';
import { toJson, toMarkdown } from '../state/exchange.ts';
import { TEXTS } from '../texts.ts';
import { saveFile } from './copy.ts';
import { Dialog } from './dialog.tsx';
import { ErrorNote } from './error-note.tsx';
import { Field } from './fields.tsx';
import { formatAge } from './format.ts';
import { MoreIcon } from './icons.tsx';
import { SystemPrompt } from './system-prompt.tsx';

/** The kept conversations: looked through, opened, imported and exported; with `isSearch`, a dialog begins at the search. */
export function ConversationList({ state, isSearch = false }: { state: AppState; isSearch?: boolean }) {
  const { conversations } = state;
  const { list, found, search, problem } = conversations;
  const shown = list.value.filter(({ id }) => found.value?.has(id) ?? true);
  const { list: texts } = TEXTS;
  return (
    <nav class="list" aria-label={TEXTS.conversations}>
      {problem.value !== undefined && <ErrorNote title={TEXTS.notKept} error={problem.value} />}
      {list.value.length > 0 && (
        <input
          type="search"
          autofocus={isSearch}
          aria-label={texts.search}
          placeholder={texts.search}
          value={search.value}
          onInput={({ currentTarget }) => void conversations.find(currentTarget.value)}
        />
      )}
      {shown.length === 0 && <p class="note">{list.value.length === 0 ? texts.empty : texts.none}</p>}
      <ul>
        {shown.map((info) => (
          <Entry key={info.id} state={state} info={info} />
        ))}
      </ul>
      <Exchange state={state} shown={shown} />
    </nav>
  );
}

function Entry({ state, info }: { state: AppState; info: ConversationInfo }) {
  const { conversations, dialog } = state;
  const isOpen = conversations.current.value.info.value.id === info.id;
  const title = info.title || TEXTS.list.untitled;
  const about = TEXTS.list.about(title);
  const open = () => {
    if (dialog.value?.kind === 'conversations') dialog.value = undefined;
    void conversations.open(info.id);
  };
  return (
    <li class={isOpen ? 'entry open' : 'entry'}>
      <button type="button" class="entry-title" aria-current={isOpen ? 'true' : undefined} onClick={open}>
        <span>{title}</span>
        <small>
          {info.pinned && `${TEXTS.list.pinned} · `}
          {!isOpen && conversations.away.value.has(info.id) && `${TEXTS.list.writing} · `}
          {formatAge(new Date(info.changed))}
        </small>
      </button>
      <button
        type="button"
        class="quiet"
        aria-label={about}
        title={about}
        onClick={() => (dialog.value = { kind: 'conversation', id: info.id })}
      >
        <MoreIcon />
      </button>
    </li>
  );
}

function Exchange({ state, shown }: { state: AppState; shown: readonly ConversationInfo[] }) {
  const { conversations } = state;
  const chooser = useRef<HTMLInputElement>(null);
  const exportAll = async () => {
    const all = await Promise.all(conversations.list.value.map(({ id }) => conversations.whole(id)));
    saveFile('conversations.json', toJson(all.filter((of) => of !== undefined)), 'application/json');
  };
  return (
    <div class="row wrap">
      <button type="button" class="small" onClick={() => chooser.current?.click()}>
        {TEXTS.list.import}
      </button>
      <input
        ref={chooser}
        type="file"
        accept=".json,.jsonl,.zip"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          void state.importFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      {conversations.list.value.length > 0 && (
        <button type="button" class="small" onClick={() => void exportAll()}>
          {TEXTS.list.exportAll}
        </button>
      )}
      {shown.length > 1 && <DeleteShown state={state} shown={shown} />}
    </div>
  );
}

/** Deletes what the list shows, all or what was found, when it is asked for twice. */
function DeleteShown({ state, shown }: { state: AppState; shown: readonly ConversationInfo[] }) {
  const [asked, ask] = useState<number>();
  const { list: texts } = TEXTS;
  // Something else may be shown since.
  if (asked !== shown.length) {
    return (
      <button type="button" class="small" onClick={() => ask(shown.length)}>
        {texts.deleteShown}
      </button>
    );
  }
  return (
    <>
      <button
        type="button"
        class="small danger"
        onClick={() => {
          ask(undefined);
          void state.conversations.remove(...shown.map(({ id }) => id));
        }}
      >
        {texts.deleteCount(shown.length)}
      </button>
      <button type="button" class="small" onClick={() => ask(undefined)}>
        {TEXTS.cancel}
      </button>
    </>
  );
}

/**
 * The title and system prompt of a conversation, and its export and removal. What is being typed as a title stays when the
 * conversation changes meanwhile, as it does while an answer is written.
 */
export function ConversationDialog({ state, id }: { state: AppState; id: string }) {
  const { conversations, dialog } = state;
  const info = conversations.list.value.find((of) => of.id === id);
  const close = () => (dialog.value = undefined);
  if (!info) return null;
  const { conversation: texts } = TEXTS;
  return (
    <Dialog title={texts.title} kind="conversation" onClose={close}>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          close();
        }}
      >
        <Field label={texts.name}>
          {(field) => (
            <input
              id={field}
              type="text"
              defaultValue={info.title}
              onChange={({ currentTarget }) =>
                conversations.change(id, { title: currentTarget.value.trim(), titledBy: 'person' })
              }
            />
          )}
        </Field>
        <SystemPrompt
          state={state}
          label={texts.system}
          hint={texts.systemHint}
          text={info.system ?? ''}
          onText={(text) => conversations.change(id, { system: text.trim() === '' ? undefined : text })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={info.pinned ?? false}
            onChange={({ currentTarget }) => conversations.change(id, { pinned: currentTarget.checked })}
          />
          {texts.pin}
        </label>
        <Exports state={state} info={info} />
      </form>
    </Dialog>
  );
}

function Exports({ state, info }: { state: AppState; info: ConversationInfo }) {
  const { conversations, dialog } = state;
  const { conversation: texts } = TEXTS;
  const title = info.title || TEXTS.list.untitled;
  const name = title.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '') || 'conversation';
  const save = async (kind: 'json' | 'markdown') => {
    const whole = await conversations.whole(info.id);
    if (!whole) return;
    if (kind === 'json') saveFile(`${name}.json`, toJson([whole]), 'application/json');
    else saveFile(`${name}.md`, toMarkdown(title, whole, texts.roles), 'text/markdown');
  };
  const remove = () => {
    dialog.value = undefined;
    void conversations.remove(info.id);
  };
  const duplicate = () => {
    dialog.value = undefined;
    void conversations.duplicate(info.id);
  };
  return (
    <div class="row wrap">
      <button type="button" onClick={() => void save('json')}>
        {texts.json}
      </button>
      <button type="button" onClick={() => void save('markdown')}>
        {texts.markdown}
      </button>
      <button type="button" onClick={duplicate}>
        {texts.duplicate}
      </button>
      <button type="button" class="danger" onClick={remove}>
        {texts.remove}
      </button>
    </div>
  );
}
