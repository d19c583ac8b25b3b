import type { ComponentType } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import type { StoredModel } from '../../src/browser/index.ts';
import type { AppState } from '../state/app-state.ts';
import { addressOf, type ServedModel } from '../state/model-shelf.ts';
import { TEXTS } from '../texts.ts';
import { Act } from './act.tsx';
import { ErrorNote } from './error-note.tsx';
import { formatAge, formatBytes } from './format.ts';
import { DeleteIcon, FileIcon, SearchIcon } from './icons.tsx';
import { ServerCard } from './server-card.tsx';

const { picker: TEXT } = TEXTS;

/** The sources of models: the server, alongside the page, the browser's storage, an address, a file. */
export function ModelPicker({ state }: { state: AppState }) {
  return (
    <div class="picker">
      <OnServer state={state} />
      <InBrowser state={state} />
    </div>
  );
}

/** The models of the server that the page comes from; if it wants a key, the field for it. */
function OnServer({ state }: { state: AppState }) {
  const { server } = state;
  const { value: access } = server.access;
  if (access === 'unknown' || access === 'absent') return null;
  return (
    <section aria-label={TEXT.server}>
      <h2>{TEXT.server}</h2>
      {access === 'locked' ? (
        <KeyForm state={state} />
      ) : (
        <ul class="cards">
          {server.models.value.map((model) => (
            <li key={model.id}>
              <ServerCard state={state} model={model} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function KeyForm({ state: { server } }: { state: AppState }) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  return (
    <form
      class="address"
      onSubmit={(event) => {
        event.preventDefault();
        void server.unlock(field.current?.value.trim() ?? '');
      }}
    >
      <label for={id}>{TEXT.key}</label>
      <div class="row">
        <input id={id} ref={field} type="password" required autocomplete="off" spellcheck={false} />
        <button type="submit">{TEXT.unlock}</button>
      </div>
      {server.isKeyWrong.value && (
        <p class="wrong" role="alert">
          {TEXT.keyWrong}
        </p>
      )}
    </form>
  );
}

function InBrowser({ state }: { state: AppState }) {
  const { shelf, server } = state;
  const served = shelf.served.value;
  // Models served alongside the page have their own cards, stored or not.
  const addresses = new Set(served.map(addressOf));
  const stored = shelf.stored.value.filter(({ url }) => url === undefined || !addresses.has(url));
  const isOnlyPlace = server.access.value === 'unknown' || server.access.value === 'absent';
  return (
    <section aria-label={TEXT.browser}>
      {!isOnlyPlace && <h2>{TEXT.browser}</h2>}
      {shelf.problem.value !== undefined && <ErrorNote title={TEXT.stored} error={shelf.problem.value} />}
      {served.map((model) => (
        <ServedCard key={model.file} state={state} model={model} />
      ))}
      {stored.length > 0 && (
        <section aria-label={TEXT.kept}>
          {isOnlyPlace ? <h2>{TEXT.kept}</h2> : <h3>{TEXT.kept}</h3>}
          <ul class="cards">
            {stored.map((model) => (
              <li key={model.id}>
                <StoredCard state={state} model={model} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <HubModels state={state} heading={isOnlyPlace ? 'h2' : 'h3'} />
      <AddressForm state={state} />
      <FileChooser state={state} />
      <StorageUse state={state} />
    </section>
  );
}

function ServedCard({ state, model }: { state: AppState; model: ServedModel }) {
  const location = addressOf(model);
  const stored = state.shelf.stored.value.find(({ url }) => url === location);
  const { title, about, bytes, license, sha256 } = model;
  return (
    <div class="card featured">
      <div class="card-text">
        <strong>{title}</strong>
        <span>{about}</span>
        <small>
          {formatBytes(bytes)}
          {stored?.complete ? ` · ${TEXT.isKept}` : ''}
          {` · ${TEXT.license(license)}`}
        </small>
        <Hash sha256={sha256} />
      </div>
      <div class="card-buttons">
        {stored && <DeleteButton state={state} model={stored} />}
        <button type="button" class="primary" onClick={() => void state.load({ location, title, sha256 })}>
          {TEXT.load}
          <span class="hidden"> {title}</span>
        </button>
      </div>
    </div>
  );
}

function StoredCard({ state, model }: { state: AppState; model: StoredModel }) {
  const { name, url, size, storedBytes, complete, used, sha256 } = model;
  const bytes =
    complete || size === undefined
      ? formatBytes(storedBytes)
      : TEXT.of(formatBytes(storedBytes), formatBytes(size));
  const loadable = complete || url !== undefined;
  return (
    <div class="card">
      <div class="card-text">
        <strong>{name}</strong>
        <small>
          {bytes}
          {used && ` · ${TEXT.used(formatAge(used))}`}
          {!loadable && ` · ${TEXT.dropAgain}`}
        </small>
        {sha256 !== undefined && <Hash sha256={sha256} />}
      </div>
      <div class="card-buttons">
        <DeleteButton state={state} model={model} />
        {loadable && (
          <button type="button" onClick={() => void state.load({ location: model, title: name })}>
            {complete ? TEXT.load : TEXT.resume}
            <span class="hidden"> {name}</span>
          </button>
        )}
      </div>
    </div>
  );
}

/** A file's hash, shortened to what fits, and whole for those who copy it. */
function Hash({ sha256 }: { sha256: string }) {
  return (
    <small class="hash" title={sha256}>
      SHA-256 {sha256}
    </small>
  );
}

function DeleteButton({ state, model }: { state: AppState; model: StoredModel }) {
  return (
    <Act label={TEXT.remove(model.name)} onClick={() => void state.shelf.remove(model)}>
      <DeleteIcon />
    </Act>
  );
}

interface HubProps {
  readonly state: AppState;
  readonly heading: 'h2' | 'h3';
}

/** Models of Hugging Face, whose list is loaded when somebody wants to see it. */
function HubModels(props: HubProps) {
  const [Shelf, setShelf] = useState<ComponentType<HubProps> | undefined>(undefined);
  if (Shelf) return <Shelf {...props} />;
  const open = async () => {
    const { HubShelf } = await import('./hub-shelf.tsx');
    setShelf(() => HubShelf);
  };
  return (
    <button type="button" class="file" onClick={() => void open()}>
      <SearchIcon />
      <span>
        <strong>{TEXTS.hub.open}</strong>
        <small>{TEXTS.hub.openAbout}</small>
      </span>
    </button>
  );
}

function AddressForm({ state }: { state: AppState }) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    const address = field.current?.value.trim() ?? '';
    if (address === '') return;
    void state.load({ location: fileAddress(address), title: fileName(address) });
  };
  return (
    <form class="address" onSubmit={submit}>
      <label for={id}>{TEXT.address}</label>
      <div class="row">
        <input
          id={id}
          ref={field}
          type="url"
          required
          placeholder="https://…/model.gguf"
          spellcheck={false}
        />
        <button type="submit">{TEXT.load}</button>
      </div>
    </form>
  );
}

function FileChooser({ state }: { state: AppState }) {
  return (
    <label class="file">
      <FileIcon />
      <span>
        <strong>{TEXT.open}</strong>
        <small>{TEXT.orDrop}</small>
      </span>
      <input
        type="file"
        accept=".gguf"
        multiple
        class="hidden"
        onChange={({ currentTarget }) => {
          void state.takeFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
    </label>
  );
}

function StorageUse({ state }: { state: AppState }) {
  const quota = state.shelf.quota.value;
  if (!quota || quota.usedBytes < 1e5) return null;
  const all = quota.quotaBytes === undefined ? undefined : formatBytes(quota.quotaBytes);
  return <p class="note">{TEXT.storage(formatBytes(quota.usedBytes), all)}</p>;
}

/** The file behind a link to Hugging Face's page about it. */
function fileAddress(address: string): string {
  return address.replace(/^(https:\/\/huggingface\.co\/[^/]+\/[^/]+\/)blob\//, '$1resolve/');
}

/** The last part of an address, whatever percent signs it has. */
function fileName(address: string): string {
  const name = address.replace(/[?#].*/, '').replace(/.*\//, '') || address;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
