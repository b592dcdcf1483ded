import {
  Fieldset,
  Input,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Select,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { Fragment, type ReactNode, useState } from 'react'
import type { Problem } from '../../subjects/kit/errors.ts'
import {
  epochKeyword,
  type JsonSchema,
  meaningsKeyword,
  meaningsText,
  usualKeyword,
} from '../../subjects/kit/json-schema.ts'
import {
  describedText,
  labelOf,
  helpBeyond,
  optionText,
  saidText,
  shownText,
  withoutDefault,
} from './format.ts'
import { fieldsIn } from './use-problems.ts'

export type Values = Readonly<Record<string, unknown>>

/** Choices that only this platform knows, by the name of the field: filesystems, roles and the like. */
export type Choices = Readonly<Record<string, readonly string[]>>

interface FieldProps {
  readonly name: string
  readonly schema: JsonSchema & {
    readonly minimum?: number
    readonly maximum?: number
    readonly format?: string
  }
  readonly value: unknown
  /** What holds while there is no value. */
  readonly usual: unknown
  /** Told undefined for a field that has nothing. */
  readonly onChange: (value: unknown) => void
  readonly isRequired: boolean
  readonly isSecret: boolean
  readonly choices: readonly string[] | undefined
  readonly problem: string | undefined
  readonly isFilter: boolean
  /** Whether a dialog begins with it. */
  readonly isFirst: boolean
}

/** Fields of an input, made from its schema. */
export function SchemaFields({
  schema,
  values,
  onChange,
  secrets = [],
  choices = {},
  problems = [],
  usual = {},
  isFilter = false,
  withFocus = false,
  below = {},
}: {
  readonly schema: JsonSchema
  readonly values: Values
  readonly onChange: (values: Values) => void
  /** Fields that nobody is to read over a shoulder. */
  readonly secrets?: readonly string[]
  readonly choices?: Choices
  readonly problems?: readonly Problem[]
  /** What holds where a field is left out, if not what the schema says: of something that is changed, what it has. */
  readonly usual?: Values
  /** Whether they say what of a list is wanted: then their names are enough, and what is left out is all of it. */
  readonly isFilter?: boolean
  /** Whether the first of them is where one types when the dialog opens. */
  readonly withFocus?: boolean
  /** What else belongs to a field, by its name. */
  readonly below?: Readonly<Record<string, ReactNode>>
}) {
  const fields = Object.entries(schema.properties ?? {}).filter(([, field]) => !isWithoutContent(field))
  return fields.map(([name, field], index) => (
    <Fragment key={name}>
      <Field
        name={name}
        schema={field}
        value={own(values, name)}
        usual={own(usual, name) ?? field[usualKeyword] ?? field.default}
        onChange={(value) => {
          const { [name]: _before, ...others } = values
          onChange(value === undefined ? others : { ...others, [name]: value })
        }}
        isRequired={schema.required?.includes(name) === true}
        isSecret={secrets.includes(name)}
        choices={own(choices, name)}
        problem={problems.find((one) => fieldsIn(one.field).includes(name))?.problem}
        isFilter={isFilter}
        isFirst={withFocus && index === 0}
      />
      {own(below, name)}
    </Fragment>
  ))
}

/** What an object has by a name that anybody may have chosen, such as `constructor`. */
const own = <T,>(values: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined

/** An object that has nothing: of a kind without further properties. */
const isWithoutContent = ({ type, properties = {}, additionalProperties }: JsonSchema): boolean =>
  type === 'object' && additionalProperties === false && Object.keys(properties).length === 0

function Field(field: FieldProps) {
  const { name, schema, value, onChange, isRequired, problem, choices, isFilter, isFirst } = field
  const meanings = schema[meaningsKeyword]
  const props = {
    name,
    label: labelOf(name),
    description: isFilter ? undefined : helpOf(labelOf(name), schema, value ?? field.usual),
    ...(isFirst && { 'data-autofocus': true }),
    required: isRequired,
    error: problem === undefined ? undefined : saidText(problem),
    mt: 'sm',
  } as const
  const members = membersOf(schema)
  const options = choices ?? (members && [...members.keys()])
  if (schema.type === 'array') {
    const items = schema.items && membersOf(schema.items)
    const several = choices ?? (items && [...items.keys()])
    const texts = ((value as readonly unknown[] | undefined) ?? []).map(String)
    if (several !== undefined)
      return (
        <MultiSelect
          {...props}
          data={several.map(choices === undefined ? optionOf : plainOption)}
          value={[...texts]}
          onChange={(chosen) =>
            onChange(
              chosen.length === 0 && !isRequired ? undefined : chosen.map((one) => items?.get(one) ?? one),
            )
          }
          searchable
          clearable
        />
      )
    if (schema.items?.type === 'string') return <Lines {...props} value={texts} onChange={onChange} />
    return <Json {...props} value={value} onChange={onChange} />
  }
  if (options !== undefined)
    return (
      <Select
        {...props}
        data={options.map(choices === undefined ? optionOf : plainOption)}
        {...(meanings && {
          renderOption: ({ option }) => <Choice {...option} meaning={meanings[option.value]} />,
        })}
        value={textOf(value)}
        onChange={(chosen) => onChange(chosen === null ? undefined : (members?.get(chosen) ?? chosen))}
        clearable={!isRequired}
        allowDeselect={!isRequired}
        placeholder={isFilter ? 'any' : usualText(field.usual)}
        searchable={options.length > 10}
      />
    )
  if (schema.type === 'boolean' && isFilter)
    return (
      <Select
        {...props}
        data={[
          { value: 'true', label: 'yes' },
          { value: 'false', label: 'no' },
        ]}
        value={textOf(value)}
        onChange={(chosen) => onChange(chosen === null ? undefined : chosen === 'true')}
        clearable
        placeholder="any"
      />
    )
  if (schema.type === 'boolean') {
    const { required: _required, ...rest } = props
    return (
      <Switch
        {...rest}
        // Off is sent too: what holds where nothing is said may be on.
        checked={(value ?? field.usual) === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    )
  }
  if (schema[epochKeyword] === true)
    return (
      <Moment
        {...props}
        value={typeof value === 'number' ? new Date(value).toISOString() : undefined}
        onChange={(timestamp) => onChange(timestamp === undefined ? undefined : Date.parse(timestamp))}
      />
    )
  if (schema.type === 'integer' || schema.type === 'number' || isNumberOrNone(schema))
    return (
      <NumberInput
        {...props}
        {...(schema.minimum !== undefined && { min: schema.minimum })}
        {...(schema.maximum !== undefined && { max: schema.maximum })}
        allowDecimal={schema.type === 'number'}
        // What is out of bounds is told, and not changed behind somebody's back.
        clampBehavior="none"
        value={(value as number | undefined) ?? ''}
        onChange={(number) => onChange(number === '' ? undefined : number)}
      />
    )
  if (
    schema.type === 'object' &&
    schema.properties !== undefined &&
    Object.keys(schema.properties).length > 0
  )
    return (
      <Fieldset legend={isRequired ? `${labelOf(name)} *` : labelOf(name)} mt="sm">
        {props.error !== undefined && <Input.Error>{props.error}</Input.Error>}
        <SchemaFields
          schema={schema}
          values={(value as Values | undefined) ?? {}}
          onChange={(inner) => onChange(Object.keys(inner).length === 0 && !isRequired ? undefined : inner)}
        />
      </Fieldset>
    )
  if (schema.type === 'object')
    return isOfTexts(schema) ? (
      <Pairs {...props} value={value as Readonly<Record<string, string>> | undefined} onChange={onChange} />
    ) : (
      <Json {...props} value={value} onChange={onChange} />
    )
  if (schema.type === undefined && schema.anyOf === undefined)
    return <Json {...props} value={value} onChange={onChange} />
  return <Line {...field} props={props} />
}

/** What a field may be, by its text; two that look alike are one to whoever chooses. */
const membersOf = ({ enum: members }: JsonSchema): ReadonlyMap<string, unknown> | undefined =>
  members && new Map(members.map((member) => [String(member), member]))

/** What stands below the label, where it says more. */
function helpOf(label: string, schema: JsonSchema, value: unknown): string | undefined {
  const description = descriptionOf(schema, value)
  return description === undefined ? undefined : helpBeyond(label, description)
}

/** What a field is for; of a choice also what the one that holds means, as the others say it in the list. */
function descriptionOf(schema: JsonSchema, value: unknown): string | undefined {
  const { description: told, [meaningsKeyword]: meanings, [usualKeyword]: usual = false } = schema
  if (told === undefined) return undefined
  const isShown = schema.enum !== undefined || schema.type === 'boolean'
  const description = isShown ? withoutDefault(told, String(usual)) : told
  // One types a moment as the browser has it.
  if (schema[epochKeyword] === true)
    return describedText(description.replace(/^Time in milliseconds since 1970; /, ''))
  const members = schema.enum?.map(String) ?? []
  if (meanings === undefined) return describedText(description, members)
  const about = description.replace(meaningsText(meanings), '').replace(/^; |\. $/, '')
  const holds = textOf(value) ?? ''
  const meaning = meanings[holds]
  return describedText(
    [
      ...(about === '' ? [] : [about]),
      ...(meaning === undefined ? [] : [`${optionText(holds)}: ${meaning}`]),
    ].join('. '),
    members,
  )
}

/** One of several choices in their list. */
const Choice = ({ label, meaning }: { readonly label: string; readonly meaning: string | undefined }) => (
  <div>
    <Text size="sm">{label}</Text>
    {meaning !== undefined && <Text size="xs">{shownText(meaning)}</Text>}
  </div>
)

/** What holds where nothing is chosen. */
const usualText = (usual: unknown): string | undefined => {
  const text = textOf(usual)
  return text === null ? undefined : `${optionText(text)} (default)`
}

const optionOf = (value: string) => ({ value, label: optionText(value) })
/** What people have named stays as it is. */
const plainOption = (value: string) => ({ value, label: value })

/** One of few values, by its text; null where there is none. */
const textOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null

/** A number, or a constant for none. */
const isNumberOrNone = ({ anyOf }: JsonSchema): boolean =>
  anyOf !== undefined &&
  anyOf.every(({ type, const: only }) => type === 'integer' || typeof only === 'number')

/** Texts by free names. */
const isOfTexts = ({ patternProperties, additionalProperties }: JsonSchema): boolean =>
  [
    ...Object.values(patternProperties ?? {}),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ].every(({ type }) => type === 'string')

interface Shared {
  readonly name: string
  readonly label: string
  readonly description: string | undefined
  readonly required: boolean
  readonly error: string | undefined
  readonly mt: 'sm'
}

function Line({ schema, value, usual, onChange, isSecret, props }: FieldProps & { readonly props: Shared }) {
  const set = (text: string) => {
    if (text === '') onChange(undefined)
    // A union such as that of seconds and "2h".
    else onChange(schema.anyOf !== undefined && /^\d+$/.test(text) ? Number(text) : text)
  }
  const shown = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  const isFile = schema.contentMediaType !== undefined || schema.contentEncoding !== undefined
  if (schema.format === 'date-time')
    return (
      <Moment {...props} value={value === undefined ? undefined : shown} onChange={(at) => set(at ?? '')} />
    )
  if (isSecret)
    return (
      <PasswordInput
        {...props}
        autoComplete="off"
        value={shown}
        onChange={(event) => set(event.currentTarget.value)}
      />
    )
  if (isFile)
    return (
      <Textarea
        {...props}
        autosize
        minRows={3}
        maxRows={10}
        value={shown}
        onChange={(event) => set(event.currentTarget.value)}
      />
    )
  return (
    <TextInput
      {...props}
      autoComplete="off"
      {...(typeof usual === 'string' && { placeholder: usual })}
      value={shown}
      onChange={(event) => set(event.currentTarget.value)}
    />
  )
}

/** A moment in local time. */
const Moment = ({
  value,
  onChange,
  ...props
}: Shared & {
  readonly value: string | undefined
  readonly onChange: (timestamp: string | undefined) => void
}) => (
  <TextInput
    {...props}
    type="datetime-local"
    value={value === undefined ? '' : localInput(value)}
    onChange={(event) => {
      const local = event.currentTarget.value
      onChange(local === '' ? undefined : new Date(local).toISOString())
    }}
  />
)

/** A moment as a field of a browser has it: local, to the minute. */
function localInput(timestamp: string): string {
  const moment = new Date(timestamp)
  const minutes = moment.getTimezoneOffset()
  return new Date(moment.getTime() - minutes * 60_000).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)
}

const linesOf = (text: string): string[] =>
  text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))

/** Texts, one a line. */
export function Lines({
  value,
  onChange,
  ...props
}: Omit<Shared, 'name' | 'required'> & {
  readonly name?: string
  readonly required?: boolean
  readonly value: readonly string[]
  readonly onChange: (lines: readonly string[] | undefined) => void
}) {
  // As it was typed: an empty line is the beginning of the next.
  const [text, setText] = useState(value.join('\n'))
  const shown = linesOf(text).join('\n') === value.join('\n') ? text : value.join('\n')
  return (
    <Textarea
      {...props}
      placeholder="one per line"
      autosize
      minRows={2}
      maxRows={12}
      value={shown}
      onChange={(event) => {
        setText(event.currentTarget.value)
        const lines = linesOf(event.currentTarget.value)
        onChange(lines.length === 0 && props.required !== true ? undefined : lines)
      }}
    />
  )
}

function Pairs({
  value,
  onChange,
  ...props
}: Shared & {
  readonly value: Readonly<Record<string, string>> | undefined
  readonly onChange: (value: unknown) => void
}) {
  const [text, setText] = useState(
    Object.entries(value ?? {})
      .map((pair) => pair.join('='))
      .join('\n'),
  )
  return (
    <Textarea
      {...props}
      placeholder="name=value, one per line"
      autosize
      minRows={2}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        const pairs = linesOf(event.currentTarget.value).flatMap((line) => {
          const at = line.indexOf('=')
          return at < 1 ? [] : [[line.slice(0, at).trim(), line.slice(at + 1).trim()] as const]
        })
        onChange(pairs.length === 0 ? undefined : Object.fromEntries(pairs))
      }}
    />
  )
}

/** What has no fields of its own, as JSON. */
function Json({
  value,
  onChange,
  ...props
}: Shared & { readonly value: unknown; readonly onChange: (value: unknown) => void }) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, undefined, 2))
  const [isBroken, setBroken] = useState(false)
  return (
    <Textarea
      {...props}
      error={isBroken ? 'Invalid JSON' : props.error}
      placeholder="JSON"
      autosize
      minRows={3}
      maxRows={16}
      value={text}
      onChange={(event) => {
        const typed = event.currentTarget.value
        setText(typed)
        try {
          onChange(typed.trim() === '' ? undefined : JSON.parse(typed))
          setBroken(false)
        } catch {
          setBroken(true)
        }
      }}
    />
  )
}
