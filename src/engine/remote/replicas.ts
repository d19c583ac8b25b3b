import { Lifetime } from '../../base/disposal.ts';
import { fail } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { DeviceInfo } from '../../device/index.ts';
import type { LoadReport } from '../../load/async-model-loader.ts';
import type { FitSummary } from '../../plan/memory/fit-plan.ts';
import type { Generation } from '../../runtime/generation.ts';
import { lineageOf } from '../../runtime/lineage.ts';
import type { GenerationEnd, PromptProgress, SequenceSink } from '../../runtime/sequence.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { SequenceSnapshot, StateShape } from '../../runtime/sequence-snapshot.ts';
import type { BlockEvent } from '../../state/held-blocks.ts';
import { type AdapterChange, AdapterChanges } from '../adapter-change.ts';
import type { EngineActivity, EngineCounters } from '../engine-setup.ts';
import type { CardMemory, EngineTarget, TokensRequest, VectorRequest } from '../engine-target.ts';
import type { ScoredId, ScoreOptions } from '../score.ts';
import type { RemoteEngine } from './remote-engine.ts';
import { type RoutedPrompt, ReplicaRouter } from './replica-router.ts';

/** Seconds until a lost engine is opened again after that failed, at first and at most. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [1, 60];

/** How an engine is opened: which of them, and what it tells of its prompt cache from then on. */
export type OpenReplica = (
  replica: number,
  of: { readonly signal: AbortSignal; readonly onBlocks: (events: readonly BlockEvent[]) => void },
) => Promise<RemoteEngine>;

/**
 * Several engines with the same model, each on a device of its own, as one (data parallelism). A text runs on one of them
 * (`ReplicaRouter`). The slots of the second are numbered behind those of the first, and so on. An engine that is lost fails its
 * own texts; the others go on, and it is opened again. Owns the engines.
 */
export class Replicas implements RemoteEngine {
  readonly lost: Promise<Error>;
  #tellLost: (error: Error) => void = () => {};
  /** By replica; a lost one stays until there is another in its place. */
  readonly #engines: RemoteEngine[];
  readonly #router: ReplicaRouter;
  readonly #open: (replica: number) => Promise<RemoteEngine>;
  readonly #logger: Logger;
  readonly #ending: AbortController;
  readonly #life = new Lifetime('the model');
  readonly #slotsEach: number;
  readonly #changes = new AdapterChanges();
  /** Adapters change, and engines join, one after another. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #returning = new Set<Promise<void>>();
  /** What engines had counted that are gone. */
  #past: EngineCounters[] = [];

  private constructor(engines: RemoteEngine[], { router, open, logger, ending }: ReplicasParts) {
    this.#engines = engines;
    this.#router = router;
    this.#open = open;
    this.#logger = logger;
    this.#ending = ending;
    this.#slotsEach = this.#first.activity.slots;
    this.lost = new Promise((resolve) => {
      this.#tellLost = resolve;
    });
    for (const [replica, engine] of engines.entries()) this.#watch(replica, engine);
  }

  /** Opens `count` engines at the same time. Rejects as the first that cannot be opened, leaving nothing open. */
  static async open(count: number, openOne: OpenReplica, logger: Logger): Promise<Replicas> {
    const router = new ReplicaRouter(count);
    const ending = new AbortController();
    const { signal } = ending;
    const open = (replica: number) =>
      openOne(replica, { signal, onBlocks: (events) => router.learn(replica, events) });
    const opening = Array.from({ length: count }, (_, replica) => open(replica));
    try {
      return new Replicas(await Promise.all(opening), { router, open, logger, ending });
    } catch (error) {
      ending.abort(error);
      for (const opened of await Promise.allSettled(opening)) {
        if (opened.status === 'fulfilled') await opened.value.dispose();
      }
      throw error;
    }
  }

  get config(): EngineTarget['config'] {
    return this.#first.config;
  }

  get context(): number {
    return this.#first.context;
  }

  get batch(): number {
    return this.#first.batch;
  }

  get vocabulary(): number {
    return this.#first.vocabulary;
  }

  get maxAdapters(): number {
    return this.#first.maxAdapters;
  }

  get device(): DeviceInfo {
    return this.#first.device;
  }

  get fit(): FitSummary {
    return this.#first.fit;
  }

  get adapters(): ReadonlyMap<string, number> {
    return this.#first.adapters;
  }

  /** Of all engines together; a lost one has no sequences. */
  get activity(): EngineActivity {
    const each = this.#engines.map(({ activity }) => activity);
    const { context, cache } = this.#first.activity;
    const sum = (of: (cache: EngineActivity['cache']) => number) =>
      each.reduce((total, activity) => total + of(activity.cache), 0);
    return {
      slots: this.#slotsEach * each.length,
      context,
      cache: { ...cache, blocks: sum(({ blocks }) => blocks), used: sum(({ used }) => used) },
      sequences: each.flatMap(({ sequences }, replica) =>
        this.#router.isHere(replica)
          ? sequences.map((of) => ({
              ...of,
              slot: of.slot < 0 ? of.slot : of.slot + replica * this.#slotsEach,
            }))
          : [],
      ),
    };
  }

  get counters(): EngineCounters {
    const here = this.#engines.filter((_, replica) => this.#router.isHere(replica));
    return [...this.#past, ...here.map(({ counters }) => counters)].reduce(sumOf);
  }

  /** The bytes and tensors of all engines, and the times of the slowest. */
  get loaded(): Promise<LoadReport> {
    return Promise.all(this.#engines.map(({ loaded }) => loaded)).then((reports) =>
      reports.reduce((one, other) => ({
        ...(one.seconds >= other.seconds ? one : other),
        bytes: one.bytes + other.bytes,
        tensors: one.tensors + other.tensors,
      })),
    );
  }

  /** Of all engines together, by replica. */
  async cards(): Promise<readonly CardMemory[]> {
    const here = this.#engines.filter((_, replica) => this.#router.isHere(replica));
    return (await Promise.all(here.map((engine) => engine.cards()))).flat();
  }

  begin(request: TokensRequest, sink: SequenceSink): Generation {
    const { replica, own } = this.#placed(request);
    const generation = this.#at(replica).begin(own, new ReplicaSink(sink, replica * this.#slotsEach));
    const end = this.#router.count(replica, request.prompt.length);
    return {
      more: () => generation.more(),
      finish: () => generation.finish(),
      leave: () => {
        end();
        generation.leave();
      },
    };
  }

  vector(ids: readonly number[], request: VectorRequest): Promise<Float32Array> {
    return this.#counted(ids, (engine) => engine.vector(ids, request));
  }

  score(ids: readonly number[], options: ScoreOptions): Promise<ScoredId[]> {
    return this.#counted(ids, (engine) => engine.score(ids, options));
  }

  saveState(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot> {
    return this.#counted(ids, (engine) => engine.saveState(ids, signal));
  }

  async saveSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<SequenceSnapshot> {
    const { engine, own } = this.#slot(slot);
    return engine.saveSlot(own, signal, tenant);
  }

  async eraseSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<number> {
    const { engine, own } = this.#slot(slot);
    return engine.eraseSlot(own, signal, tenant);
  }

  async restoreState(snapshot: SequenceSnapshot, slot?: number, tenant?: string): Promise<void> {
    if (slot === undefined) {
      const { ids } = snapshot;
      return this.#counted(ids, (engine) => engine.restoreState(snapshot, undefined, tenant));
    }
    const { engine, own } = this.#slot(slot);
    await engine.restoreState(snapshot, own, tenant);
  }

  stateShape(length: number): Promise<StateShape> {
    return this.#first.stateShape(length);
  }

  /** All engines change; one that does not, though the first did, is opened again. */
  changeAdapters(change: AdapterChange): Promise<void> {
    return this.#inTurn(async () => {
      const first = this.#first;
      await first.changeAdapters(change);
      this.#changes.add(change);
      const others = [...this.#engines.entries()].filter(
        ([replica, engine]) => engine !== first && this.#router.isHere(replica),
      );
      await Promise.all(
        others.map(([replica, engine]) =>
          engine.changeAdapters(change).catch((error: Error) => this.#lose(replica, engine, error)),
        ),
      );
    });
  }

  async reset(): Promise<void> {
    const here = this.#engines.filter((_, replica) => this.#router.isHere(replica));
    await Promise.all(here.map((engine) => engine.reset()));
  }

  async dispose(): Promise<void> {
    if (!this.#life.end()) return;
    this.#ending.abort();
    await Promise.all(this.#returning);
    const here = this.#engines.filter((_, replica) => this.#router.isHere(replica));
    await Promise.all(here.map((engine) => engine.dispose()));
  }

  /** The first engine that is not lost; if all are, one that fails as lost ones do. */
  get #first(): RemoteEngine {
    return this.#at([...this.#engines.keys()].find((replica) => this.#router.isHere(replica)) ?? 0);
  }

  #at(replica: number): RemoteEngine {
    return this.#engines[replica] as RemoteEngine;
  }

  /** The replica of a text, which has the slot that it asks for or is chosen for it, and the request as that engine knows it. */
  #placed(request: TokensRequest): { replica: number; own: TokensRequest } {
    const { prompt: ids, cacheSalt, scheduling } = request;
    if (scheduling?.slot !== undefined) {
      const { replica, own: slot } = this.#slot(scheduling.slot);
      return { replica, own: { ...request, scheduling: { ...scheduling, slot } } };
    }
    const chosen = [...(request.adapters ?? this.adapters)].filter(([, scale]) => scale !== 0);
    const adapters = chosen.map(([name, scale], index) => ({ index, name, scale }));
    return { replica: this.#choose({ ids, lineage: lineageOf(adapters, cacheSalt) }), own: request };
  }

  /** If all are lost, one that fails as lost ones do. */
  #choose(prompt: RoutedPrompt): number {
    return this.#router.choose(prompt) ?? 0;
  }

  /** Work of one engine, which counts until it is done. */
  async #counted<T>(ids: readonly number[], work: (engine: RemoteEngine) => Promise<T>): Promise<T> {
    const replica = this.#choose({ ids });
    const end = this.#router.count(replica, ids.length);
    try {
      return await work(this.#at(replica));
    } finally {
      end();
    }
  }

  #slot(slot: number): { replica: number; engine: RemoteEngine; own: number } {
    const slots = this.#slotsEach * this.#engines.length;
    if (!(Number.isInteger(slot) && slot >= 0 && slot < slots)) {
      fail('INVALID_ARGUMENT', {
        name: 'slot',
        found: String(slot),
        expected: `an integer from 0 to ${slots - 1}`,
      });
    }
    const replica = Math.floor(slot / this.#slotsEach);
    return { replica, engine: this.#at(replica), own: slot % this.#slotsEach };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  #watch(replica: number, engine: RemoteEngine): void {
    void engine.lost.then((error) => this.#lose(replica, engine, error));
  }

  /** Does without an engine, and opens it again unless it was the last. */
  #lose(replica: number, engine: RemoteEngine, error: Error): void {
    if (this.#life.disposed || this.#at(replica) !== engine || !this.#router.isHere(replica)) return;
    this.#logger.warn('replica lost', { replica, reason: error.message });
    this.#past = [[...this.#past, engine.counters].reduce(sumOf)];
    this.#router.leave(replica);
    const isLast = !this.#engines.some((_, other) => this.#router.isHere(other));
    if (isLast) this.#tellLost(error);
    const ended = engine.dispose().catch(() => {});
    const returning = (isLast ? ended : ended.then(() => this.#return(replica))).finally(() =>
      this.#returning.delete(returning),
    );
    this.#returning.add(returning);
  }

  async #return(replica: number): Promise<void> {
    const { signal } = this.#ending;
    for (let seconds = FIRST_PAUSE; !signal.aborted; seconds = Math.min(2 * seconds, LONGEST_PAUSE)) {
      try {
        const engine = await this.#open(replica);
        await this.#inTurn(() => this.#join(replica, engine));
        return;
      } catch (error) {
        if (signal.aborted) return;
        const { message } = error as Error;
        this.#logger.warn('replica not opened', { replica, reason: message, seconds });
        await passed(seconds, signal);
      }
    }
  }

  async #join(replica: number, engine: RemoteEngine): Promise<void> {
    try {
      await this.#changes.apply(engine, (change) => engine.changeAdapters(change));
      this.#ending.signal.throwIfAborted();
    } catch (error) {
      await engine.dispose();
      throw error;
    }
    this.#engines[replica] = engine;
    this.#router.join(replica);
    this.#watch(replica, engine);
    this.#logger.warn('replica restored', { replica });
  }
}

/** What open engines are joined with. */
interface ReplicasParts {
  readonly router: ReplicaRouter;
  readonly open: (replica: number) => Promise<RemoteEngine>;
  readonly logger: Logger;
  readonly ending: AbortController;
}

function sumOf(one: EngineCounters, other: EngineCounters): EngineCounters {
  const names = Object.keys(one) as (keyof EngineCounters)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as Record<
    keyof EngineCounters,
    number
  >;
}

/** Resolves after the seconds, or once the signal fires. */
function passed(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    signal.addEventListener('abort', done);
  });
}

/** Passes on a text of a replica, whose slots are numbered from `firstSlot` on. */
class ReplicaSink implements SequenceSink {
  readonly #sink: SequenceSink;
  readonly #firstSlot: number;

  constructor(sink: SequenceSink, firstSlot: number) {
    this.#sink = sink;
    this.#firstSlot = firstSlot;
  }

  get isBehind(): boolean {
    return this.#sink.isBehind;
  }

  push(token: SampledToken): void {
    this.#sink.push(token);
  }

  progress(of: PromptProgress): void {
    this.#sink.progress?.(of);
  }

  end(end: GenerationEnd): void {
    this.#sink.end(end.slot < 0 ? end : { ...end, slot: this.#firstSlot + end.slot });
  }

  fail(error: unknown): void {
    this.#sink.fail(error);
  }

  clear(): number {
    return this.#sink.clear();
  }
}
