import { objectIn } from '../json-object.ts';
import { chooseLanguage, chosenLanguage, LANGUAGES } from '../language.ts';
import type { AppState } from '../state/app-state.ts';
import { DEFAULT_SETTINGS, type SettingValues } from '../state/settings.ts';
import { TEXTS } from '../texts.ts';
import { Dialog } from './dialog.tsx';
import { Choice, Count, Decimal, Field, Range } from './fields.tsx';
import { McpServerFields } from './mcp-server-fields.tsx';
import { SystemPrompt } from './system-prompt.tsx';

const { setting: TEXT } = TEXTS;

/** Settings for sampling and for loading models. */
export function SettingsDialog({ state }: { state: AppState }) {
  const { settings, session, dialog } = state;
  const change = (changed: Partial<SettingValues>) => {
    settings.value = { ...settings.value, ...changed };
  };
  // Servers and presets were added one by one, and are removed so.
  const reset = () => {
    const { mcpServers, presets } = settings.value;
    settings.value = { ...DEFAULT_SETTINGS, mcpServers, presets };
  };
  const reload = () => {
    dialog.value = undefined;
    void session.reload();
  };
  const { value: status } = session.status;
  const canReload = status.kind === 'ready' && status.engine.place === 'browser';
  return (
    <Dialog title={TEXTS.settings} kind="settings" onClose={() => (dialog.value = undefined)}>
      <form class="fields" onSubmit={(event) => event.preventDefault()}>
        <SystemPrompt
          state={state}
          label={TEXT.system}
          placeholder={TEXT.systemPlaceholder}
          text={settings.value.system}
          onText={(system) => change({ system })}
        />
        <AnswerFields values={settings.value} change={change} />
        <ConversationFields values={settings.value} change={change} />
        <Advanced values={settings.value} change={change} />
        <label class="check">
          <input
            type="checkbox"
            checked={settings.value.javascript}
            onChange={({ currentTarget }) => change({ javascript: currentTarget.checked })}
          />
          {TEXT.javascript}
        </label>
        <McpServerFields servers={state.toolbox.servers} values={settings.value} change={change} />
        <LookFields values={settings.value} change={change} />
        <h3>{TEXT.loading}</h3>
        <LoadFields values={settings.value} change={change} />
        <p>
          <a href="./bench.html">{TEXTS.bench.open}</a>
        </p>
        <div class="row end">
          <button type="button" onClick={reset}>
            {TEXT.reset}
          </button>
          {canReload && (
            <button type="button" class="primary" onClick={reload}>
              {TEXT.reload}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

interface FieldsProps {
  readonly values: SettingValues;
  readonly change: (changed: Partial<SettingValues>) => void;
}

/** The settings with sliders. */
const RANGES = [
  { name: 'temperature', label: TEXT.temperature, hint: TEXT.temperatureHint, max: 2, usual: 0.8 },
  { name: 'topP', label: TEXT.topP, hint: TEXT.topPHint, max: 1, usual: 0.95 },
  {
    name: 'repeatPenalty',
    label: TEXT.repeatPenalty,
    hint: TEXT.repeatPenaltyHint,
    min: 1,
    max: 1.5,
    usual: 1,
  },
] as const;

/** Settings for those who know them; without a number they are as the model recommends. */
const NUMBERS = [
  { name: 'topK', label: TEXT.topK, max: 1000, step: 1, placeholder: TEXT.asModel },
  { name: 'minP', label: TEXT.minP, max: 1, step: 0.01, placeholder: TEXT.asModel },
  { name: 'frequencyPenalty', label: TEXT.frequencyPenalty, max: 2, step: 0.05, placeholder: TEXT.asModel },
  { name: 'presencePenalty', label: TEXT.presencePenalty, max: 2, step: 0.05, placeholder: TEXT.asModel },
  { name: 'penaltyWindow', label: TEXT.penaltyWindow, max: 100_000, step: 1, placeholder: TEXT.asModel },
  { name: 'typicalP', label: TEXT.typicalP, max: 1, step: 0.01, placeholder: TEXT.asModel },
  { name: 'topNSigma', label: TEXT.topNSigma, max: 100, step: 0.1, placeholder: TEXT.asModel },
  { name: 'xtcProbability', label: TEXT.xtcProbability, max: 1, step: 0.01, placeholder: TEXT.asModel },
  { name: 'xtcThreshold', label: TEXT.xtcThreshold, max: 1, step: 0.01, placeholder: TEXT.asModel },
  { name: 'dynatempRange', label: TEXT.dynatempRange, max: 2, step: 0.05, placeholder: TEXT.asModel },
  { name: 'dynatempExponent', label: TEXT.dynatempExponent, max: 10, step: 0.1, placeholder: TEXT.asModel },
  { name: 'dryMultiplier', label: TEXT.dryMultiplier, max: 10, step: 0.05, placeholder: TEXT.asModel },
  { name: 'dryBase', label: TEXT.dryBase, max: 10, step: 0.05, placeholder: TEXT.asModel },
  { name: 'dryAllowedLength', label: TEXT.dryAllowedLength, max: 1000, step: 1, placeholder: TEXT.asModel },
  { name: 'dryPenaltyLastN', label: TEXT.dryPenaltyLastN, max: 100_000, step: 1, placeholder: TEXT.asModel },
  { name: 'mirostat', label: TEXT.mirostat, max: 2, step: 1, placeholder: TEXT.asModel },
  { name: 'mirostatTau', label: TEXT.mirostatTau, max: 20, step: 0.1, placeholder: TEXT.asModel },
  { name: 'mirostatEta', label: TEXT.mirostatEta, max: 1, step: 0.01, placeholder: TEXT.asModel },
] as const;

function AnswerFields({ values, change }: FieldsProps) {
  return (
    <>
      {RANGES.map(({ name, ...range }) => (
        <Range key={name} {...range} value={values[name]} onChange={(value) => change({ [name]: value })} />
      ))}
      <Count
        label={TEXT.maxTokens}
        placeholder={TEXT.noLimit}
        value={values.maxTokens}
        onChange={(maxTokens) => change({ maxTokens })}
      />
      <Count
        label={TEXT.seed}
        hint={TEXT.seedHint}
        least={0}
        placeholder={TEXT.random}
        value={values.seed}
        onChange={(seed) => change({ seed })}
      />
    </>
  );
}

function LookFields({ values, change }: FieldsProps) {
  return (
    <>
      <Choice
        label={TEXT.theme}
        labels={TEXT.themeChoices}
        value={values.theme}
        onChange={(theme) => change({ theme })}
      />
      <Choice
        label={TEXT.language}
        hint={TEXT.languageHint}
        labels={{ browser: TEXT.languageOfBrowser, ...LANGUAGES }}
        value={chosenLanguage() ?? 'browser'}
        onChange={(language) => chooseLanguage(language === 'browser' ? undefined : language)}
      />
    </>
  );
}

function ConversationFields({ values, change }: FieldsProps) {
  return (
    <>
      <Choice
        whole
        label={TEXT.whenFull}
        labels={TEXT.whenFullChoices}
        value={values.whenFull}
        onChange={(whenFull) => change({ whenFull })}
      />
      <Choice
        label={TEXT.thinking}
        labels={TEXT.thinkingChoices}
        value={values.thinking}
        onChange={(thinking) => change({ thinking })}
      />
      <Choice
        label={TEXT.titles}
        labels={TEXT.titlesChoices}
        value={values.titles}
        onChange={(titles) => change({ titles })}
      />
      <Count
        label={TEXT.pastedFile}
        hint={TEXT.pastedFileHint}
        least={0}
        value={values.pastedFile}
        onChange={(pastedFile = DEFAULT_SETTINGS.pastedFile) => change({ pastedFile })}
      />
    </>
  );
}

function Advanced({ values, change }: FieldsProps) {
  return (
    <details>
      <summary>{TEXT.advanced}</summary>
      <div class="fields">
        {NUMBERS.map(({ name, ...of }) => (
          <Decimal key={name} {...of} value={values[name]} onChange={(value) => change({ [name]: value })} />
        ))}
        <ServerFields values={values} change={change} />
      </div>
    </details>
  );
}

/** What no other setting says, for those who know the server's API. */
function ServerFields({ values: { serverFields }, change }: FieldsProps) {
  return (
    <>
      <Field label={TEXT.serverFields} hint={TEXT.serverFieldsHint}>
        {(id) => (
          <textarea
            id={id}
            rows={2}
            spellcheck={false}
            value={serverFields}
            onInput={({ currentTarget }) => change({ serverFields: currentTarget.value })}
          />
        )}
      </Field>
      {objectIn(serverFields) === undefined && <p role="alert">{TEXT.noObject}</p>}
    </>
  );
}

function LoadFields({ values, change }: FieldsProps) {
  return (
    <>
      <Count
        label={TEXT.context}
        value={values.context}
        onChange={(context = DEFAULT_SETTINGS.context) => change({ context })}
      />
      <Choice
        label={TEXT.cache}
        labels={TEXT.cacheChoices}
        value={values.cacheType}
        onChange={(cacheType) => change({ cacheType })}
      />
      <Choice
        label={TEXT.device}
        labels={TEXT.deviceChoices}
        value={values.device}
        onChange={(device) => change({ device })}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={values.keep}
          onChange={({ currentTarget }) => change({ keep: currentTarget.checked })}
        />
        {TEXT.keep}
      </label>
      <Field label={TEXT.hub} hint={TEXT.hubHint}>
        {(id) => (
          <input
            id={id}
            type="url"
            spellcheck={false}
            value={values.hub}
            placeholder={DEFAULT_SETTINGS.hub}
            onChange={({ currentTarget }) => {
              const hub = currentTarget.value.trim();
              if (hub === '' || URL.canParse(hub)) change({ hub: hub || DEFAULT_SETTINGS.hub });
            }}
          />
        )}
      </Field>
    </>
  );
}
