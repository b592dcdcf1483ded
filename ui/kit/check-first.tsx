import { Button, Text } from '@mantine/core'
import { type ComponentProps, type ReactNode, useState } from 'react'
import type { Contract } from '../../subjects/kit/contract.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { fieldsOf } from '../../subjects/kit/json-schema.ts'
import { useCommand } from '../data/calls.ts'
import { Checks } from './checks.tsx'
import { Failure, showFully } from './failure.tsx'
import type { Values } from './schema-fields.tsx'

type Found = ComponentProps<typeof Checks>['of']

/** What of what was entered a check is of. */
function known(contract: Contract, input: Values): Values {
  const asked = Object.keys(fieldsOf(contract.input))
  return Object.fromEntries(Object.entries(input).filter(([name]) => asked.includes(name)))
}

const textOf = (values: unknown): string => JSON.stringify(values)

/**
 * Tries what a migration needs of a store or catalog, before it is saved: for a form that adds one. What fails is shown, and
 * then added only by whoever asks for that.
 */
export function useCheckFirst(contract: Contract): {
  readonly verb: (input: Values) => string
  readonly mayBeSent: (input: Values) => Promise<boolean>
  readonly beside: (input: Values) => ReactNode
} {
  const check = useCommand(contract, { isShown: true })
  const [failed, setFailed] = useState<string>()
  const hasFailed = (input: Values) => failed === textOf(known(contract, input))
  // What was found is of what was entered then.
  const isOf = (input: Values) =>
    check.variables !== undefined && textOf(check.variables) === textOf(known(contract, input))
  return {
    verb: (input) => (hasFailed(input) ? 'Add anyway' : 'Check and add'),
    mayBeSent: async (input) => {
      if (hasFailed(input)) return true
      try {
        // Contracts of checks answer so.
        const { ok } = (await check.mutateAsync(known(contract, input))) as Found
        if (!ok) setFailed(textOf(known(contract, input)))
        return ok
      } catch {
        // What is wrong with the input is said where it is sent, at its fields, and once.
        check.reset()
        return true
      }
    },
    beside: (input) => (
      <>
        <Button
          variant="default"
          mt="sm"
          loading={check.isPending}
          onClick={() => check.mutate(known(contract, input))}
        >
          Check without adding
        </Button>
        {isOf(input) && check.error && <Failure title="The check failed" error={check.error} />}
        {isOf(input) && check.data !== undefined && (
          <div ref={showFully}>
            <Checks
              what={contract.resource === filesystems.list.resource ? 'store' : 'catalog'}
              of={check.data as Found}
            />
          </div>
        )}
        {hasFailed(input) && (
          <Text size="sm" mt="sm" role="alert" ref={showFully}>
            It was not added, because a check failed. Correct what is wrong, or add it anyway.
          </Text>
        )}
      </>
    ),
  }
}
