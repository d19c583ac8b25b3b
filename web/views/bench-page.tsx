import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { BackendName } from '../../src/browser/open-device.ts';
import type { BrowserSupport } from '../../src/browser/index.ts';
import { type BenchResult, type BenchStage, runBench } from '../state/bench.ts';
import { linkOf, resultIn } from '../state/bench-link.ts';
import { addressOf, ModelShelf } from '../state/model-shelf.ts';
import { library, type LoadRequest } from '../state/model-session.ts';
import { TEXTS } from '../texts.ts';
import { copyText } from './copy.ts';
import { ErrorNote } from './error-note.tsx';
import { Choice, Count, Field } from './fields.tsx';
import { formatBytes } from './format.ts';

const { bench: TEXT } = TEXTS;
const DEVICES: readonly BackendName[] = ['cpu', 'webgpu'];
/** llama-bench's own numbers, in as many repetitions as a browser's patience allows. */
const USUAL = { promptTokens: 512, generatedTokens: 128, repetitions: 3 };

/** How fast a model is in this browser, in the form of llama-bench, with a link that shows it to others. */
export function BenchPage() {
  const shared = useRef(resultIn(location.hash)).current;
  const [result, setResult] = useState(shared === 'broken' ? undefined : shared);
  return (
    <main class="bench">
      <h1>{TEXT.title}</h1>
      {shared === 'broken' && <ErrorNote title={TEXT.broken} error={TEXT.brokenFix} />}
      {result && <Result result={result} isShared={result === shared} />}
      <BenchForm onResult={setResult} />
      <p>
        <a href="./">{TEXT.back}</a>
      </p>
    </main>
  );
}

function BenchForm({ onResult }: { onResult: (result: BenchResult) => void }) {
  const models = useModels();
  const can = useSupport();
  const [counts, setCounts] = useState(USUAL);
  const [at, setAt] = useState(0);
  const [devices, setDevices] = useState<readonly BackendName[] | undefined>(undefined);
  const { stage, failure, run, stop } = useBench(onResult);
  const chosen = devices ?? (can?.device === undefined ? [] : [can.device]);
  const model = models[at];
  const submit = (event: Event) => {
    event.preventDefault();
    if (model && chosen.length > 0) void run(model, { ...counts, devices: chosen });
  };
  const toggle = (device: BackendName) =>
    setDevices(DEVICES.filter((name) => chosen.includes(name) !== (name === device)));
  return (
    <form class="fields" onSubmit={submit}>
      <ModelChoice models={models} at={at} onChange={setAt} />
      <fieldset>
        <legend>{TEXT.devices}</legend>
        {DEVICES.map((device) => (
          <DeviceCheck
            key={device}
            device={device}
            can={can}
            checked={chosen.includes(device)}
            onToggle={toggle}
          />
        ))}
      </fieldset>
      {(['promptTokens', 'generatedTokens', 'repetitions'] as const).map((name) => (
        <Count
          key={name}
          label={TEXT[name]}
          value={counts[name]}
          onChange={(count = USUAL[name]) => setCounts({ ...counts, [name]: count })}
        />
      ))}
      {failure !== undefined && <ErrorNote title={TEXT.failed} error={failure} />}
      <div class="row">
        {stage ? (
          <button type="button" onClick={stop}>
            {TEXTS.cancel}
          </button>
        ) : (
          <button type="submit" class="primary" disabled={!model || chosen.length === 0}>
            {TEXT.run}
          </button>
        )}
        <span role="status">{stage && textOf(stage)}</span>
      </div>
    </form>
  );
}

function ModelChoice(props: { models: readonly LoadRequest[]; at: number; onChange: (at: number) => void }) {
  const { models, at, onChange } = props;
  if (models.length === 0) return <p class="note">{TEXT.noModels}</p>;
  const labels = Object.fromEntries(models.map(({ title }, index) => [`${index}`, title]));
  return (
    <Choice
      whole
      label={TEXT.model}
      labels={labels}
      value={`${at}`}
      onChange={(value) => onChange(Number(value))}
    />
  );
}

function DeviceCheck(props: {
  device: BackendName;
  can: BrowserSupport | undefined;
  checked: boolean;
  onToggle: (device: BackendName) => void;
}) {
  const { device, can, checked, onToggle } = props;
  const about = can?.[device];
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={() => onToggle(device)} />
      {TEXTS.setting.deviceChoices[device]}
      {about?.available === false && <small> {about.why}</small>}
    </label>
  );
}

/** The table, and what else was found. */
function Result({ result, isShared }: { result: BenchResult; isShared: boolean }) {
  const { model, modelBytes, rows, plannedBytes, peakBytes, agreement, browser, processors } = result;
  const title = isShared ? TEXT.shared : TEXT.result;
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <div class="scrolls" role="region" aria-label={TEXT.table} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {TEXT.columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ device, name, test, mean, deviation }) => (
              <tr key={`${device} ${test}`}>
                <td>{model}</td>
                <td class="number">{formatBytes(modelBytes)}</td>
                <td>{device}</td>
                <td>{name}</td>
                <td>{test}</td>
                <td class="number">
                  {mean.toFixed(2)} ± {deviation.toFixed(2)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="note">
        {TEXT.memory(formatBytes(plannedBytes), peakBytes === undefined ? undefined : formatBytes(peakBytes))}
      </p>
      {agreement && <p class="note">{TEXT.agreement(agreement.tokens, agreement.of)}</p>}
      <p class="note">{TEXT.machine(processors, browser)}</p>
      {!isShared && <Share result={result} />}
    </section>
  );
}

function Share({ result }: { result: BenchResult }) {
  const [copied, setCopied] = useState<boolean | undefined>(undefined);
  const link = linkOf(result);
  return (
    <Field label={TEXT.link} hint={TEXT.linkHint}>
      {(id) => (
        <div class="row">
          <input id={id} type="url" readOnly value={link} />
          <button type="button" onClick={() => void copyText(link).then(setCopied)}>
            {TEXT.copy}
          </button>
          <span role="status">
            {copied !== undefined && (copied ? TEXTS.turn.copied : TEXTS.turn.notCopied)}
          </span>
        </div>
      )}
    </Field>
  );
}

function textOf(stage: BenchStage): string {
  const device = TEXTS.setting.deviceChoices[stage.device];
  if (stage.kind === 'test') return TEXT.testing(stage.test, device);
  return TEXT.loading(device, stage.share === undefined ? undefined : Math.floor(100 * stage.share));
}

/** The models that need no address: beside the page, and kept in the browser. */
function useModels(): readonly LoadRequest[] {
  const shelf = useRef<ModelShelf | undefined>(undefined);
  const [models, setModels] = useState<readonly LoadRequest[]>([]);
  useEffect(() => {
    const read = (shelf.current ??= new ModelShelf());
    void read.refresh().then(() => {
      const served = read.served.value.map((model) => ({ ...model, location: addressOf(model) }));
      const addresses = new Set(served.map(({ location }) => location));
      const stored = read.stored.value
        .filter(({ complete, url }) => complete && (url === undefined || !addresses.has(url)))
        .map((model) => ({ location: model, title: model.name }));
      setModels([...served, ...stored]);
    });
  }, []);
  return models;
}

function useSupport(): BrowserSupport | undefined {
  const [can, setCan] = useState<BrowserSupport | undefined>(undefined);
  useEffect(() => {
    void library()
      .then(({ support }) => support())
      .then(setCan);
  }, []);
  return can;
}

function useBench(onResult: (result: BenchResult) => void) {
  const [stage, setStage] = useState<BenchStage | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  const run = async (...[model, plan]: [LoadRequest, Parameters<typeof runBench>[1]]) => {
    const own = new AbortController();
    running.current = own;
    setFailure(undefined);
    try {
      onResult(await runBench(model, plan, { onStage: setStage, signal: own.signal }));
    } catch (error) {
      if (!own.signal.aborted) setFailure(error);
    } finally {
      setStage(undefined);
    }
  };
  return { stage, failure, run, stop: () => running.current?.abort() };
}
