import { Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { PatternType } from '../../subjects/migrations/model/rules.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { mayCall, useAnswer } from '../data/calls.ts'
import { useSession } from '../data/session-context.ts'
import { capitalized, saidText } from './format.ts'

/** What somebody types is asked about when they pause, not letter by letter. */
const pauseMs = 300

/** Whether a pattern matches a path, before there is a rule with it. */
export function TryPattern({
  regex,
  patternType,
}: {
  readonly regex: string | undefined
  readonly patternType: PatternType | undefined
}) {
  const session = useSession()
  const [path, setPath] = useState('')
  const [asked] = useDebouncedValue({ path, regex, patternType }, pauseMs)
  const isWanted = asked.path.startsWith('/') && asked.regex !== undefined
  const { data, error } = useAnswer(
    exclusions.test,
    {
      path: asked.path,
      ...(asked.regex !== undefined && { regex: asked.regex }),
      ...(asked.patternType !== undefined && { patternType: asked.patternType }),
    },
    { isWanted },
  )
  if (!mayCall(session, exclusions.test)) return null
  const said = isWanted ? (error === null ? data?.explanation : saidText(error.message)) : undefined
  return (
    <TextInput
      mt="sm"
      label="Try the pattern with a path"
      description="Optional; it is not saved"
      placeholder="/data/part.tmp"
      autoComplete="off"
      value={path}
      error={path !== '' && !path.startsWith('/') ? 'Begin the path with a slash' : undefined}
      onChange={(event) => setPath(event.currentTarget.value)}
      // It would send the form around it.
      onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      inputWrapperOrder={['label', 'description', 'input', 'error']}
      {...(said !== undefined && {
        inputContainer: (input) => (
          <>
            {input}
            <Text size="sm" mt={4} role="status">
              {capitalized(said)}
            </Text>
          </>
        ),
      })}
    />
  )
}
