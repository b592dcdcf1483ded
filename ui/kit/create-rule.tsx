import { Button, Modal, Select } from '@mantine/core'
import { useState } from 'react'
import type { Contract } from '../../subjects/kit/contract.ts'
import { fieldsOf } from '../../subjects/kit/json-schema.ts'
import { type PatternType, ruleHead } from '../../subjects/migrations/model/rules.ts'
import type { exclusions } from '../../subjects/rules/exclusions.ts'
import type { inclusions } from '../../subjects/rules/inclusions.ts'
import { mayCall } from '../data/calls.ts'
import { useSession } from '../data/session-context.ts'
import { ContractForm } from './contract-form.tsx'
import { capitalized } from './format.ts'
import { TryPattern } from './try-pattern.tsx'

const ways = ['create-regex', 'create-file-size', 'create-date', 'create-age', 'create-paths'] as const

/** `By path pattern`, of `Create an exclusion by path pattern`. @param title what all of them begin with */
function wayText({ summary }: Contract, title: string): string {
  const way = summary.slice(title.length).trim()
  return capitalized(way)
}

type Head = keyof typeof ruleHead

/** Its name, what it matches, and last what all rules have; they are read in this order. */
function fieldsOfRule({ input }: Contract, isOfNew: boolean): readonly Head[] {
  const isOwn = (name: string) => !Object.hasOwn(ruleHead, name)
  const head = Object.keys(ruleHead).filter((name) => name !== 'id' && !(isOfNew && name === 'deletedWith'))
  // All of them are fields of the contract.
  return ['id', ...Object.keys(fieldsOf(input)).filter(isOwn), ...head] as Head[]
}

/** A button with a form for each type of rule: there for those who may make one. */
export function CreateRule({
  contracts,
  what,
  isMain = false,
  isInline = false,
  isOfNew = false,
  onDone,
}: {
  readonly contracts: typeof exclusions | typeof inclusions
  /** `exclusion` or `inclusion` */
  readonly what: string
  readonly isMain?: boolean
  /** Beside other buttons. */
  readonly isInline?: boolean
  /** For a migration that is not there yet, with which no rule can be deleted. */
  readonly isOfNew?: boolean
  /** Gets its name. */
  readonly onDone?: (id: string) => void
}) {
  const session = useSession()
  const [way, setWay] = useState<(typeof ways)[number]>()
  const offered = ways.filter((one) => mayCall(session, contracts[one]))
  if (offered.length === 0) return null
  const close = () => setWay(undefined)
  const title = `Create an ${what}`
  return (
    <>
      <Button
        {...(!isInline && { mb: 'md' })}
        variant={isMain ? 'filled' : 'default'}
        onClick={() => setWay(offered[0])}
      >
        {title}
      </Button>
      <Modal opened={way !== undefined} onClose={close} title={title} size="lg">
        <Select
          label="Type"
          data={offered.map((value) => ({ value, label: wayText(contracts[value], title) }))}
          value={way ?? null}
          allowDeselect={false}
          onChange={(value) => setWay(value ?? undefined)}
        />
        {way && (
          <ContractForm
            key={way}
            contract={contracts[way]}
            verb="Create"
            fields={fieldsOfRule(contracts[way], isOfNew)}
            {...(way === 'create-regex' && {
              initial: { patternType: 'GLOB' },
              beside: ({ regex, patternType }) => (
                <TryPattern
                  regex={regex as string | undefined}
                  patternType={patternType as PatternType | undefined}
                />
              ),
            })}
            onCancel={close}
            onDone={({ id }) => {
              close()
              onDone?.(id)
            }}
          />
        )}
      </Modal>
    </>
  )
}
