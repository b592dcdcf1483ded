import { Alert, Text } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { Contract, Input, Output } from '../../subjects/kit/contract.ts'
import type { Problem } from '../../subjects/kit/errors.ts'
import { jsonSchema, pick } from '../../subjects/kit/json-schema.ts'
import { useCommand } from '../data/calls.ts'
import { AsCommand } from './as-command.tsx'
import { Failure } from './failure.tsx'
import { addingText, describedText, textWithout } from './format.ts'
import { FormButtons } from './form-buttons.tsx'
import { type Choices, SchemaFields, type Values } from './schema-fields.tsx'
import { fieldsIn, useProblems } from './use-problems.ts'

export interface ContractFormProps<C extends Contract> {
  readonly contract: C
  readonly verb: string | ((input: Values) => string)
  /** Fields that are not asked for. */
  readonly given?: Partial<Input<C>>
  /** What stands in the fields at first. */
  readonly initial?: Partial<Input<C>>
  /** Only these fields, in this order; else all that are not given. */
  readonly fields?: readonly (keyof Input<C> & string)[]
  /** Fields that do not go with what was entered so far: they are neither shown nor sent. */
  readonly hidden?: (input: Values) => readonly string[]
  /** Help for fields that depends on what was entered, in place of the schema's, which is for all cases. */
  readonly helps?: (input: Values) => Readonly<Record<string, string | undefined>>
  /** Fields that the contract does not require, and this form does. */
  readonly needed?: readonly (keyof Input<C> & string)[]
  /** What sentences of the description that do not go with this form have in them. */
  readonly unsaid?: RegExp
  /** What a field that is left out keeps. */
  readonly usual?: Values
  /** Whether fields that stay as they were at first are not sent. */
  readonly changedOnly?: boolean
  readonly secrets?: readonly string[]
  readonly choices?: Choices
  readonly changes?: readonly string[]
  /** Called before it is sent. Resolves to whether it is. */
  readonly mayBeSent?: (input: Values) => Promise<boolean>
  readonly onDone: (output: Output<C>, input: Input<C>) => void
  readonly onCancel?: () => void
  /** Beside the buttons, about what was entered so far. */
  readonly beside?: (input: Values) => ReactNode
  /** Below the command that does the same: what belongs to it. */
  readonly then?: (input: Values) => ReactNode
}

/** A form for the input of a contract: its fields, texts and bounds are those of the schema. */
export function ContractForm<C extends Contract>({
  contract,
  verb,
  given = {},
  initial = {},
  fields,
  hidden,
  helps,
  needed = [],
  unsaid,
  usual,
  changedOnly = false,
  secrets = contract.cli?.secrets ?? [],
  choices = {},
  changes,
  mayBeSent,
  onDone,
  onCancel,
  beside,
  then,
}: ContractFormProps<C>) {
  const command = useCommand(contract, { isShown: true, ...(changes && { changes }) })
  const [values, setValues] = useState<Values>(initial as Values)
  const [isAsking, setAsking] = useState(false)
  const all = jsonSchema(contract.input).properties ?? {}
  const unfit = hidden?.({ ...values, ...given }) ?? []
  const asked = (fields ?? Object.keys(all).filter((name) => !Object.hasOwn(given, name))).filter(
    (name) => !unfit.includes(name),
  )
  const picked = pick(contract.input, asked)
  const required = [...(picked.required ?? []), ...(contract.cli?.needed ?? []), ...needed]
  const isAsked = (name: string) => required.includes(name)
  // What has to be filled in stands first.
  const names =
    fields === undefined ? [...asked.filter(isAsked), ...asked.filter((name) => !isAsked(name))] : asked
  const schema = { ...picked, required }
  const help = helps?.({ ...values, ...given }) ?? {}
  const described = (name: string) =>
    help[name] === undefined ? all[name]! : { ...all[name]!, description: help[name] }
  const ordered = { ...schema, properties: Object.fromEntries(names.map((name) => [name, described(name)])) }
  const isAsBefore = (name: string, value: unknown) =>
    changedOnly && JSON.stringify(value) === JSON.stringify((initial as Values)[name])
  const fit = Object.fromEntries(
    Object.entries(values).filter(([name, value]) => !unfit.includes(name) && !isAsBefore(name, value)),
  )
  const input = { ...fit, ...given } as Values
  const { problems, shown, edit } = useProblems(command.error)
  const { description: whole = '' } = contract
  const told = unsaid === undefined ? whole : textWithout(whole, unsaid)
  // Of what is not there yet nothing can stay.
  const description = Object.keys(given).length === 0 ? addingText(told) : told
  const isMarked = isAllMarked(problems, names)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    // It may be far from the button.
    if (command.error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [command.error])
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        // Forms in a dialog of a form are of their own.
        event.stopPropagation()
        const send = () =>
          command.mutate(input as Input<C>, { onSuccess: (output) => onDone(output, input as Input<C>) })
        if (mayBeSent === undefined) return send()
        setAsking(true)
        void mayBeSent(input)
          .then((may) => may && send())
          .finally(() => setAsking(false))
      }}
    >
      {names.some(isAsked) && <RequiredHint />}
      <SchemaFields
        schema={ordered}
        values={values}
        onChange={(next) => {
          edit(values, next)
          setValues(next)
        }}
        secrets={secrets}
        choices={choices}
        problems={problems}
        withFocus
        {...(usual && { usual })}
      />
      {shown !== null && !isMarked && <Failure title="The request failed" error={shown} />}
      {beside?.(input)}
      {description !== '' && (
        <Alert mt="md" color="gray" variant="light" p="xs" role="note">
          {describedText(description, answersOf(contract))}
        </Alert>
      )}
      <FormButtons
        verb={typeof verb === 'string' ? verb : verb(input)}
        {...(onCancel && { onCancel })}
        isPending={isAsking || command.isPending}
      />
      <AsCommand contract={contract} input={input} secrets={secrets} />
      {then?.(input)}
    </form>
  )
}

/** What the answer of a contract may be, where its fields have choices: descriptions name these. */
const answersOf = ({ output }: Contract): string[] =>
  Object.values(jsonSchema(output).properties ?? {}).flatMap((field) => (field.enum ?? []).map(String))

/** Whether what is wrong stands at its fields already. */
const isAllMarked = (problems: readonly Problem[], names: readonly string[]): boolean =>
  problems.length > 0 && problems.every(({ field }) => fieldsIn(field).some((name) => names.includes(name)))

/** Above the fields of a form that has to have some. */
export const RequiredHint = () => (
  <Text size="sm" mt="xs">
    Fields marked with * are required.
  </Text>
)
