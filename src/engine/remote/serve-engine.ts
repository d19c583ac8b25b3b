import { invariant } from '../../base/errors.ts';
import type { LogFields, Logger } from '../../base/log.ts';
import { type CallContext, serveCalls } from '../../calls/index.ts';
import type { WorkerPort } from '../../device/index.ts';
import type { LoadProgress } from '../../load/load-progress.ts';
import { summaryOf } from '../../plan/memory/fit-plan.ts';
import { StepProfile } from '../../runtime/jobs/step-profile.ts';
import type { BlockEvent } from '../../state/held-blocks.ts';
import { changeAdapters } from '../adapter-change.ts';
import type { LanguageModel } from '../language-model.ts';
import { sendTokens } from './call-sink.ts';
import type {
  EngineDescription,
  EngineReport,
  EngineThreadCalls,
  LogDetail,
  OpenRequest,
} from './engine-calls.ts';
import { StateReporter } from './state-reporter.ts';

/** What an engine's thread provides to the loader besides the request. */
export interface EngineEnvironment {
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly profile: StepProfile | undefined;
  readonly onBlocks: ((events: readonly BlockEvent[]) => void) | undefined;
  readonly onProgress: (progress: LoadProgress) => void;
}

/** Loads the model of a request, by means of the platform. */
export type OpenModel<O> = (request: O, of: EngineEnvironment) => Promise<LanguageModel>;

/** Serves calls into this thread with one engine, which `open` opens: the other end of `RemoteModel`. */
export function serveEngine<O>(port: WorkerPort, open: OpenModel<O>): void {
  const reports = new ReportStream();
  let model: LanguageModel | undefined;
  const opened = (): LanguageModel => {
    invariant(model, 'a model is opened before it is used');
    return model;
  };
  const states = new StateReporter(
    () => ({ activity: opened().activity, counters: opened().counters }),
    (state) => reports.tell({ kind: 'state', state }),
  );
  serveCalls<EngineThreadCalls<O>>(port, {
    reports: (_, context) => reports.bring(context),
    open: async (asks, { signal }) => {
      model = await open(asks.request, { signal, ...environmentOf(asks, reports) });
      // Known from the beginning, whether or not a call ever runs.
      reports.tell({ kind: 'state', state: { activity: model.activity, counters: model.counters } });
      return describe(model);
    },
    begin: (asks, context) => states.during(sendTokens(opened(), asks, context)),
    vector: ({ ids, pooling }, { signal }) => states.during(opened().vector(ids, { pooling, signal })),
    score: ({ ids, ...options }, { signal }) => states.during(opened().score(ids, { ...options, signal })),
    save: (ids, { signal }) => states.during(opened().saveState(ids, signal)),
    saveSlot: ({ slot, tenant }, { signal }) => states.during(opened().saveSlot(slot, signal, tenant)),
    eraseSlot: ({ slot, tenant }, { signal }) => states.during(opened().eraseSlot(slot, signal, tenant)),
    restore: ({ snapshot, slot, tenant }) => states.during(opened().restoreState(snapshot, slot, tenant)),
    stateShape: (length) => opened().stateShape(length),
    changeAdapters: async (change) => {
      await states.during(changeAdapters(opened(), change));
      return opened().adapters;
    },
    loaded: async () => opened().loaded,
    cards: () => opened().cards(),
    reset: async () => opened().reset(),
    dispose: async () => {
      await model?.dispose();
      reports.end();
    },
  });
}

/** Sends reports to the listener, if there is one. */
class ReportStream {
  #context: CallContext<EngineReport> | undefined;
  end: () => void = () => {};

  bring(context: CallContext<EngineReport>): Promise<void> {
    this.#context = context;
    return new Promise((resolve) => {
      this.end = resolve;
    });
  }

  tell(report: EngineReport): void {
    this.#context?.tell(report);
  }
}

function environmentOf<O>(
  { logs, profile, blocks }: OpenRequest<O>,
  reports: ReportStream,
): Omit<EngineEnvironment, 'signal'> {
  const note = profile && { withTrace: profile.withTrace, onNote: tellNote };
  function tellNote(of: Extract<EngineReport, { kind: 'profile' }>['note']): void {
    reports.tell({ kind: 'profile', note: of });
  }
  return {
    logger: loggerOf(logs, reports),
    profile: note && new StepProfile(note),
    onBlocks: blocks ? (events) => reports.tell({ kind: 'blocks', events }) : undefined,
    onProgress: (progress) => reports.tell({ kind: 'progress', progress }),
  };
}

function loggerOf(detail: LogDetail, reports: ReportStream): Logger {
  const levels: readonly LogDetail[] = ['info', 'debug', 'trace'];
  const enabled = (level: LogDetail) => levels.indexOf(level) <= levels.indexOf(detail);
  const say = (level: LogDetail | 'warn') => (message: string, fields?: LogFields) => {
    if (level !== 'warn' && !enabled(level)) return;
    reports.tell({ kind: 'log', level, message, fields: sendable(fields) });
  };
  return { enabled, warn: say('warn'), info: say('info'), debug: say('debug'), trace: say('trace') };
}

/** Log fields in a form that can be sent: errors by their message, everything else as JSON. */
function sendable(fields: LogFields = {}): LogFields {
  const isPlain = (value: unknown) => typeof value === 'number' || typeof value === 'string';
  const written = (_: string, value: unknown) => (value instanceof Error ? value.message : value);
  if (Object.values(fields).every(isPlain)) return fields;
  return JSON.parse(JSON.stringify(fields, written)) as LogFields;
}

function describe(model: LanguageModel): EngineDescription {
  const { context, batch, vocabulary, adapters, maxAdapters, device, fit } = model;
  const { architecture, width, pooling, classifier } = model.config;
  const config = { architecture, width, ...(pooling && { pooling }), ...(classifier && { classifier }) };
  const sizes = { context, batch, vocabulary, maxAdapters };
  return { config, ...sizes, adapters, device: device.info, fit: summaryOf(fit) };
}
