import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { memoryOf, SUGGESTED_MODELS, type SuggestedModel } from '../../src/cli/suggested-models.ts';
import type { GgufVariant } from '../../src/node/hub/gguf-variants.ts';
import type { AppState } from '../state/app-state.ts';
import {
  type HubFile,
  HubFailure,
  type HubModels,
  type HubRepository,
  modelsOf,
  searchHub,
} from '../state/hub.ts';
import { library } from '../state/model-session.ts';
import { guessSpeed } from '../state/speed-guess.ts';
import { TEXTS } from '../texts.ts';
import { formatBytes } from './format.ts';

const { hub: TEXT } = TEXTS;

/** The most that a browser's tab is worth offering, in bytes of memory. */
const MOST_MEMORY = 16e9;

/** What this device is, as far as guesses need it. */
interface DeviceFacts {
  readonly device: string;
  readonly memoryBytes: number | undefined;
}

/** Models of Hugging Face: some that are worth a try, and a search. Nothing is asked there before a click. */
export function HubShelf({ state, heading: Heading }: { state: AppState; heading: 'h2' | 'h3' }) {
  const facts = useDeviceFacts();
  const [found, setFound] = useState<readonly HubRepository[] | undefined>(undefined);
  const { failure, asking, run } = useAsking();
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const { hub } = state.settings.value;
  const host = hostOf(hub);
  const submit = (event: Event) => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? '';
    if (text === '') setFound(undefined);
    else void run(async (signal) => setFound(await searchHub(hub, text, signal)));
  };
  return (
    <section aria-label={TEXT.title}>
      <Heading>{TEXT.title}</Heading>
      <form class="address" role="search" aria-label={TEXT.search(host)} onSubmit={submit}>
        <label for={id}>{TEXT.search(host)}</label>
        <div class="row">
          <input id={id} ref={field} type="search" spellcheck={false} autocomplete="off" />
          <button type="submit" disabled={asking}>
            {TEXT.find}
          </button>
        </div>
      </form>
      <p class="note">{TEXT.about(host)}</p>
      {failure !== undefined && <Failure failure={failure} host={host} />}
      <p class="note" role="status">
        {asking ? TEXT.asking(host) : found && TEXT.found(found.length)}
      </p>
      <ul class="cards">
        {found
          ? found.map((repository) => (
              <li key={repository.id}>
                <RepositoryCard
                  state={state}
                  facts={facts}
                  repo={repository.id}
                  about={aboutFound(repository)}
                />
              </li>
            ))
          : SUGGESTED_MODELS.filter(isForBrowsers).map((model) => (
              <li key={model.repo}>
                <RepositoryCard
                  state={state}
                  facts={facts}
                  repo={model.repo}
                  about={aboutSuggested(model, facts)}
                />
              </li>
            ))}
      </ul>
    </section>
  );
}

/** What is known of a repository before it is asked, in lines. */
type About = readonly string[];

function aboutFound({ license, downloads, gated }: HubRepository): About {
  const parts = [license ?? TEXT.noLicense, TEXT.downloads(downloads)];
  return [[...parts, ...(gated ? [TEXT.gated] : [])].join(' · ')];
}

function aboutSuggested({ parameters, bytes, license, goodFor }: SuggestedModel, facts: DeviceFacts): About {
  const share = usedShare(parameters);
  return [
    goodFor,
    [TEXT.size(parameters, formatBytes(bytes)), license, ...needs(bytes, facts, share)].join(' · '),
  ];
}

/** Of a mixture of experts, `21, 3.6 used`, the part that a token reads. */
function usedShare(parameters: string): number {
  const [all, used] = Array.from(parameters.matchAll(/[\d.]+/g), ([number]) => Number(number));
  return all && used ? used / all : 1;
}

/** Embeddings cannot chat, and what is too large for any tab only stands in the way. */
function isForBrowsers(model: SuggestedModel): boolean {
  return !model.goodFor.startsWith('embeddings') && memoryOf(model) <= MOST_MEMORY;
}

/** What a model needs of this device, and how fast it would be. */
function needs(bytes: number, { device, memoryBytes }: DeviceFacts, share = 1): string[] {
  const memory = memoryOf({ bytes });
  const speed = guessSpeed(device, bytes, share);
  return [
    TEXT.memory(formatBytes(memory)),
    ...(memoryBytes !== undefined && memory > memoryBytes ? [TEXT.tooLarge(formatBytes(memoryBytes))] : []),
    ...(speed === undefined ? [] : [TEXT.speed(speed)]),
  ];
}

/** A repository, which shows its files when it is opened. */
function RepositoryCard(props: { state: AppState; facts: DeviceFacts; repo: string; about: About }) {
  const { state, facts, repo, about } = props;
  const { hub } = state.settings.value;
  const [models, setModels] = useState<HubModels | undefined>(undefined);
  const { failure, asking, run } = useAsking();
  const show = () => void run(async (signal) => setModels(await modelsOf(hub, repo, signal)));
  return (
    <div class="card">
      <div class="card-text">
        <strong>{repo}</strong>
        {about.map((line) => (
          <small key={line}>{line}</small>
        ))}
      </div>
      {!models && (
        <div class="card-buttons">
          <button type="button" disabled={asking} onClick={show}>
            {TEXT.files}
            <span class="hidden"> {repo}</span>
          </button>
        </div>
      )}
      {failure !== undefined && <Failure failure={failure} host={hostOf(hub)} />}
      {models && <VariantList state={state} facts={facts} repo={repo} models={models} />}
    </div>
  );
}

function VariantList(props: { state: AppState; facts: DeviceFacts; repo: string; models: HubModels }) {
  const { state, facts, repo, models } = props;
  const list = useRef<HTMLUListElement>(null);
  // The button that asked for them is gone.
  useEffect(() => list.current?.querySelector('button')?.focus(), []);
  if (models.models.length === 0) return <p class="note">{TEXT.nothing}</p>;
  const { usual } = models;
  const order = [...(usual ? [usual] : []), ...models.models.filter((model) => model !== usual)];
  return (
    <ul class="variants" ref={list} aria-label={TEXT.filesOf(repo)}>
      {order.map((model) => (
        <li key={model.files[0]?.path}>
          <Variant state={state} facts={facts} model={model} isUsual={model === usual} />
        </li>
      ))}
    </ul>
  );
}

function Variant(props: {
  state: AppState;
  facts: DeviceFacts;
  model: GgufVariant<HubFile>;
  isUsual: boolean;
}) {
  const { state, facts, model, isUsual } = props;
  const { quantization, files, bytes } = model;
  const [first] = files;
  if (!first) return null;
  const title = first.path.slice(first.path.lastIndexOf('/') + 1);
  // Of a split model, each part has a hash of its own.
  const sha256 = files.length === 1 ? first.sha256 : undefined;
  const load = () => void state.load({ location: first.url, title, ...(sha256 !== undefined && { sha256 }) });
  return (
    <>
      <div class="card-text">
        <span>
          {quantization} · {formatBytes(bytes)}
          {files.length > 1 && ` · ${TEXT.parts(files.length)}`}
          {isUsual && ` · ${TEXT.usual}`}
        </span>
        <small>{needs(bytes, facts).join(' · ')}</small>
        {sha256 !== undefined && (
          <small class="hash" title={sha256}>
            SHA-256 {sha256}
          </small>
        )}
      </div>
      <button type="button" class={isUsual ? 'primary' : ''} onClick={load}>
        {TEXTS.picker.load}
        <span class="hidden"> {title}</span>
      </button>
    </>
  );
}

function Failure({ failure, host }: { failure: unknown; host: string }) {
  const status = failure instanceof HubFailure ? failure.status : undefined;
  return (
    <p class="wrong" role="alert">
      {status === undefined ? TEXT.unreachable(host) : TEXT.refused(host, status)}
    </p>
  );
}

/** One question at a time: a new one ends the one before, and so does leaving. */
function useAsking() {
  const [asking, setAsking] = useState(false);
  const [failure, setFailure] = useState<unknown>(undefined);
  const current = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  const run = async (ask: (signal: AbortSignal) => Promise<void>) => {
    current.current?.abort();
    const own = new AbortController();
    current.current = own;
    setAsking(true);
    setFailure(undefined);
    try {
      await ask(own.signal);
    } catch (error) {
      if (!own.signal.aborted) setFailure(error);
    } finally {
      if (current.current === own) setAsking(false);
    }
  };
  return { asking, failure, run };
}

function useDeviceFacts(): DeviceFacts {
  const [facts, setFacts] = useState<DeviceFacts>({ device: '', memoryBytes: undefined });
  useEffect(() => {
    void library()
      .then(({ support }) => support())
      .then(({ device, memoryBytes }) => setFacts({ device: device ?? '', memoryBytes }));
  }, []);
  return facts;
}

function hostOf(hub: string): string {
  return URL.canParse(hub) ? new URL(hub).host : hub;
}
