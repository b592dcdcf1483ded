import { Code, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { defaultLimitMs, type Endpoint } from '../../../subjects/extensions/model.ts'
import type { JsonSchema } from '../../../subjects/kit/json-schema.ts'
import { roots } from '../../../subjects/kit/names.ts'
import { mayAsk } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { Empty } from '../../kit/empty.tsx'
import { ErrorBoundary } from '../../kit/error-boundary.tsx'
import { Failure } from '../../kit/failure.tsx'
import { FormButtons } from '../../kit/form-buttons.tsx'
import { Section } from '../../kit/page.tsx'
import { SchemaFields, type Values } from '../../kit/schema-fields.tsx'
import { useProblems } from '../../kit/use-problems.ts'

/** What an extension answers, each with a form to call it. */
export function Endpoints({
  prefix,
  endpoints,
}: {
  readonly prefix: string
  readonly endpoints: readonly Endpoint[]
}) {
  if (endpoints.length === 0) return <Empty>This extension has no endpoints.</Empty>
  return endpoints.map((endpoint) => (
    <ErrorBoundary key={endpoint.name} title={endpoint.name}>
      <One prefix={prefix} endpoint={endpoint} />
    </ErrorBoundary>
  ))
}

function One({ prefix, endpoint }: { readonly prefix: string; readonly endpoint: Endpoint }) {
  const session = useSession()
  const { name, summary, description, limitMs = defaultLimitMs } = endpoint
  const { subject = `${roots.extensions}.${prefix}.${name}` } = endpoint
  const schema = (endpoint.input ?? {}) as JsonSchema
  const [values, setValues] = useState<Values>({})
  const call = useMutation({
    mutationFn: () => session.ask(subject, values, limitMs),
    meta: { isShown: true },
  })
  const { problems, shown, edit } = useProblems(call.error)
  const isOpen = mayAsk(session, subject)
  return (
    <Section title={name}>
      <Text className="name">{summary}</Text>
      {description !== undefined && (
        <Text size="sm" className="name">
          {description}
        </Text>
      )}
      {isOpen ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            call.mutate()
          }}
        >
          <SchemaFields
            schema={schema}
            values={values}
            onChange={(next) => {
              edit(values, next)
              setValues(next)
            }}
            problems={problems}
          />
          <FormButtons verb={`Call ${name}`} isPending={call.isPending} />
        </form>
      ) : (
        <Text size="sm">{`To call this endpoint, your role needs permission to publish to ${subject}.`}</Text>
      )}
      {shown !== null && <Failure title="The call failed" error={shown} />}
      {call.isSuccess && (
        <Code block className="name" role="status">
          {JSON.stringify(call.data, undefined, 2)}
        </Code>
      )}
    </Section>
  )
}
