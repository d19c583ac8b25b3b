import { useId, useRef } from 'preact/hooks';
import type { StoredModel } from '../../src/browser/index.ts';
import type { AppState } from '../state/app-state.ts';
import { addressOf, type ServedModel } from '../state/model-shelf.ts';
import { ErrorNote } from './error-note.tsx';
import { formatAge, formatBytes } from './format.ts';
import { DeleteIcon, FileIcon } from './icons.tsx';

/** The sources of models: alongside the page, the browser's storage, an address, a file. */
export function ModelPicker({ state }: { state: AppState }) {
  const { shelf } = state;
  const served = shelf.served.value;
  // Models served alongside the page have their own cards, stored or not.
  const addresses = new Set(served.map(addressOf));
  const stored = shelf.stored.value.filter(({ url }) => url === undefined || !addresses.has(url));
  return (
    <div class="picker">
      {shelf.problem.value !== undefined && <ErrorNote title="Stored models" error={shelf.problem.value} />}
      {served.length > 0 && (
        <section aria-label="Models beside this page">
          {served.map((model) => (
            <ServedCard key={model.file} state={state} model={model} />
          ))}
        </section>
      )}
      {stored.length > 0 && (
        <section aria-label="Kept in this browser">
          <h2>Kept in this browser</h2>
          <ul class="cards">
            {stored.map((model) => (
              <li key={model.id}>
                <StoredCard state={state} model={model} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <AddressForm state={state} />
      <FileChooser state={state} />
      <StorageUse state={state} />
    </div>
  );
}

function ServedCard({ state, model }: { state: AppState; model: ServedModel }) {
  const location = addressOf(model);
  const stored = state.shelf.stored.value.find(({ url }) => url === location);
  const { title, about, bytes, sha256 } = model;
  return (
    <div class="card featured">
      <div class="card-text">
        <strong>{title}</strong>
        <span>{about}</span>
        <small>
          {formatBytes(bytes)}
          {stored?.complete ? ' · kept in this browser' : ''}
        </small>
      </div>
      <div class="card-buttons">
        {stored && <DeleteButton state={state} model={stored} />}
        <button type="button" class="primary" onClick={() => void state.load({ location, title, sha256 })}>
          Load<span class="hidden"> {title}</span>
        </button>
      </div>
    </div>
  );
}

function StoredCard({ state, model }: { state: AppState; model: StoredModel }) {
  const { name, url, size, storedBytes, complete, used } = model;
  const bytes =
    complete || size === undefined
      ? formatBytes(storedBytes)
      : `${formatBytes(storedBytes)} of ${formatBytes(size)}`;
  const loadable = complete || url !== undefined;
  return (
    <div class="card">
      <div class="card-text">
        <strong>{name}</strong>
        <small>
          {bytes}
          {used && ` · used ${formatAge(used)}`}
          {!loadable && ' · drop the file again to go on'}
        </small>
      </div>
      <div class="card-buttons">
        <DeleteButton state={state} model={model} />
        {loadable && (
          <button type="button" onClick={() => void state.load({ location: model, title: name })}>
            {complete ? 'Load' : 'Resume'}
            <span class="hidden"> {name}</span>
          </button>
        )}
      </div>
    </div>
  );
}

function DeleteButton({ state, model }: { state: AppState; model: StoredModel }) {
  const label = `Delete ${model.name} from this browser`;
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={label}
      onClick={() => void state.shelf.remove(model)}
    >
      <DeleteIcon />
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
    const title = decodeURIComponent(address.replace(/[?#].*/, '').replace(/.*\//, '')) || address;
    void state.load({ location: address, title });
  };
  return (
    <form class="address" onSubmit={submit}>
      <label for={id}>A GGUF file’s address</label>
      <div class="row">
        <input
          id={id}
          ref={field}
          type="url"
          required
          placeholder="https://…/model.gguf"
          spellcheck={false}
        />
        <button type="submit">Load</button>
      </div>
    </form>
  );
}

function FileChooser({ state }: { state: AppState }) {
  return (
    <label class="file">
      <FileIcon />
      <span>
        <strong>Open a file</strong>
        <small>or drop it anywhere on the page</small>
      </span>
      <input
        type="file"
        accept=".gguf"
        multiple
        class="hidden"
        onChange={({ currentTarget }) => {
          void state.loadFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
    </label>
  );
}

function StorageUse({ state }: { state: AppState }) {
  const quota = state.shelf.quota.value;
  if (!quota || quota.usedBytes < 1e5) return null;
  const all = quota.quotaBytes === undefined ? '' : ` of ${formatBytes(quota.quotaBytes)}`;
  return (
    <p class="note">
      {formatBytes(quota.usedBytes)}
      {all} of this browser’s storage used
    </p>
  );
}
