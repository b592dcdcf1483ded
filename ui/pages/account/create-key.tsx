import { Box, Modal, NumberInput, Radio, SimpleGrid, Stack, Text, TextInput, Textarea } from '@mantine/core'
import { useState } from 'react'
import { keys } from '../../../subjects/access/keys.ts'
import { uncovered } from '../../../subjects/kit/patterns.ts'
import { useCommand } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { AsCommand } from '../../kit/as-command.tsx'
import { Failure } from '../../kit/failure.tsx'
import { FormButtons } from '../../kit/form-buttons.tsx'
import { PermissionList } from '../../kit/permission-list.tsx'
import { PermissionPicker } from '../../kit/permission-picker.tsx'
import { type Purpose, purposeNames, purposes, rulesOf } from '../../kit/purposes.ts'
import { TokenOnce } from '../../kit/token-once.tsx'

const prefixLabel = 'Prefix of the extension'

const none = {
  name: '',
  notes: '',
  days: '' as number | string,
  purpose: 'read' as Purpose,
  prefix: '',
  pub: [] as readonly string[],
  sub: [] as readonly string[],
}

/** Creates a key with what it needs: what one may not give is not offered, and what is typed beyond that is named. */
export function CreateKey({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const { person } = useSession()
  const create = useCommand(keys.create, { isShown: true })
  const [values, setValues] = useState(none)
  const set = (change: Partial<typeof values>) => {
    create.reset()
    setValues({ ...values, ...change })
  }
  const { pub: own, sub: heard } = person.permissions
  const needed = values.purpose === 'custom' ? values : rulesOf[values.purpose](values.prefix)
  // Of what one may not read nothing can be given; other purposes are offered whole, or not.
  const { pub, sub } =
    values.purpose === 'read'
      ? {
          pub: needed.pub.filter((rule) => uncovered(own.allow, [rule]).length === 0),
          sub: needed.sub.filter((rule) => uncovered(heard.allow, [rule]).length === 0),
        }
      : needed
  const offered = purposeNames.filter((purpose) => {
    if (purpose === 'read' || purpose === 'custom') return true
    const rules = rulesOf[purpose](values.prefix)
    return uncovered(own.allow, rules.pub).length === 0 && uncovered(heard.allow, rules.sub).length === 0
  })
  const input = {
    name: values.name,
    ...(values.notes !== '' && { notes: values.notes }),
    capabilities: { pub: { allow: [...pub] }, sub: { allow: [...sub] } },
    ...(typeof values.days === 'number' && { expiresInDays: values.days }),
  }
  const close = () => {
    create.reset()
    setValues(none)
    onClose()
  }
  if (create.data !== undefined)
    return (
      <TokenOnce title="API key created" token={isOpen ? create.data.token : undefined} onClose={close} />
    )
  return (
    <Modal opened={isOpen} onClose={close} title="Create an API key" size="xl">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.mutate(input)
        }}
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            label="Name"
            required
            autoComplete="off"
            data-autofocus
            value={values.name}
            onChange={(event) => set({ name: event.currentTarget.value })}
          />
          <NumberInput
            label="Expires in (days)"
            placeholder="never"
            min={1}
            max={3650}
            value={values.days}
            onChange={(days) => set({ days })}
          />
        </SimpleGrid>
        <Textarea
          label="Notes"
          mt="sm"
          value={values.notes}
          onChange={(event) => set({ notes: event.currentTarget.value })}
        />
        <Radio.Group
          label="What is the key for?"
          mt="md"
          value={values.purpose}
          onChange={(purpose) => set({ purpose })}
        >
          <Stack gap="xs" mt="xs">
            {offered.map((purpose) => (
              <Radio
                key={purpose}
                value={purpose}
                label={purposes[purpose].label}
                description={purposes[purpose].says}
              />
            ))}
          </Stack>
        </Radio.Group>
        {values.purpose === 'extension' && (
          <TextInput
            label={prefixLabel}
            description="The name with which the extension registers, such as weather"
            mt="sm"
            required
            autoComplete="off"
            value={values.prefix}
            onChange={(event) => set({ prefix: event.currentTarget.value })}
          />
        )}
        {values.purpose === 'custom' && (
          <PermissionPicker
            pub={values.pub}
            sub={values.sub}
            own={{ pub: own.allow, sub: heard.allow }}
            onChange={set}
          />
        )}
        {values.purpose !== 'custom' && (
          <Box mt="sm">
            <PermissionList label="May call" rules={pub} />
            <PermissionList label="May follow" rules={sub} />
          </Box>
        )}
        <Text size="sm" mt="sm">
          A key cannot have more permissions than you. Your roles: {person.roles.join(', ') || 'none'}.
        </Text>
        {create.error && <Failure title="The key was not created" error={create.error} />}
        <FormButtons
          verb="Create"
          onCancel={close}
          isPending={create.isPending}
          lacking={[
            ...(values.name === '' ? ['Name'] : []),
            ...(values.purpose === 'extension' && values.prefix === '' ? [prefixLabel] : []),
            ...(pub.length + sub.length === 0 ? ['Permissions'] : []),
          ]}
        />
        <AsCommand contract={keys.create} input={input} />
      </form>
    </Modal>
  )
}
