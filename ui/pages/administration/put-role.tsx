import { Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type Role, roles } from '../../../subjects/access/roles.ts'
import { uncovered } from '../../../subjects/kit/patterns.ts'
import { mayCall, useAll, useCommand } from '../../data/calls.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import { useSession } from '../../data/session-context.ts'
import { AsCommand } from '../../kit/as-command.tsx'
import { DialogButton, type DialogButtonProps } from '../../kit/dialog-button.tsx'
import { Failure } from '../../kit/failure.tsx'
import { FormButtons } from '../../kit/form-buttons.tsx'
import { purposes, rulesOf } from '../../kit/purposes.ts'
import { PermissionPicker } from '../../kit/permission-picker.tsx'
import { Lines } from '../../kit/schema-fields.tsx'

/** Creates a role, or changes one: what one may not give is not offered. */
export function PutRole({ role, ...shown }: DialogButtonProps & { readonly role?: Role }) {
  const session = useSession()
  if (!mayCall(session, roles.put)) return null
  return (
    <DialogButton {...shown} size="xl">
      {(close) => <Form role={role} onDone={close} />}
    </DialogButton>
  )
}

const noRole: Role = {
  name: '',
  description: '',
  pub: { allow: [] },
  sub: { allow: [] },
  visible_extensions: [],
}

type Start = Pick<Role, 'pub' | 'sub' | 'visible_extensions'>

/** Purposes that need nothing more to be known. */
const presets = ['read', 'migrate'] as const

/** Before the name of a role among what a new one can start with, so that it is not taken for a purpose. */
const ofRole = 'role '

/** What a new role has first. */
function startOf(preset: string | null, existing: readonly Role[]): Start {
  const purpose = presets.find((one) => one === preset)
  if (purpose === undefined) return existing.find(({ name }) => `${ofRole}${name}` === preset) ?? noRole
  const { pub, sub } = rulesOf[purpose]('')
  return { pub: { allow: [...pub] }, sub: { allow: [...sub] }, visible_extensions: ['*'] }
}

function Form({ role, onDone }: { readonly role: Role | undefined; readonly onDone: () => void }) {
  const { permissions } = useSession().person
  const put = useCommand(roles.put, { isShown: true })
  const [values, setValues] = useState(role ?? noRole)
  const set = (change: Partial<Role>) => {
    put.reset()
    setValues({ ...values, ...change })
  }
  const { data: existing = [] } = useAll(roles.list, ({ name }) => name)
  const [preset, setPreset] = useState<string | null>(null)
  /** Of what others may, what one may give. */
  const within = ({ pub, sub, visible_extensions }: Start): Start => ({
    pub: { allow: pub.allow.filter((rule) => uncovered(permissions.pub.allow, [rule]).length === 0) },
    sub: { allow: sub.allow.filter((rule) => uncovered(permissions.sub.allow, [rule]).length === 0) },
    visible_extensions,
  })
  const verb = role === undefined ? 'Create' : 'Change'
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        put.mutate(values, {
          onSuccess: () => {
            onDone()
            reportOutcome(`The role ${values.name} is ${role === undefined ? 'created' : 'changed'}`)
          },
        })
      }}
    >
      {role === undefined && (
        <TextInput
          label="Name"
          required
          autoComplete="off"
          data-autofocus
          value={values.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
      )}
      <TextInput
        label="Description"
        mt="sm"
        value={values.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
      {role === undefined && (
        <Select
          label="Start with the permissions for"
          description="You can change them below. What exceeds your own permissions is left out."
          placeholder="nothing"
          mt="sm"
          data={[
            { group: 'Purposes', items: presets.map((value) => ({ value, label: purposes[value].label })) },
            {
              group: 'Roles',
              items: existing.map(({ name }) => ({ value: `${ofRole}${name}`, label: name })),
            },
          ]}
          value={preset}
          onChange={(chosen) => {
            setPreset(chosen)
            set(within(startOf(chosen, existing)))
          }}
          clearable
        />
      )}
      <PermissionPicker
        pub={values.pub.allow}
        sub={values.sub.allow}
        own={{ pub: permissions.pub.allow, sub: permissions.sub.allow }}
        onChange={({ pub, sub }) =>
          set({ ...(pub && { pub: { allow: [...pub] } }), ...(sub && { sub: { allow: [...sub] } }) })
        }
      />
      <Lines
        label="Visible extensions"
        description="Prefixes of extensions that users with this role see in menus and lists, one per line; * for all. Empty: none."
        mt="sm"
        value={values.visible_extensions}
        error={undefined}
        onChange={(prefixes) => set({ visible_extensions: [...(prefixes ?? [])] })}
      />
      {put.error && <Failure title="The role was not saved" error={put.error} />}
      <FormButtons
        verb={verb}
        onCancel={onDone}
        isPending={put.isPending}
        lacking={[
          ...(values.name === '' ? ['Name'] : []),
          ...(values.pub.allow.length + values.sub.allow.length === 0 ? ['Permissions'] : []),
        ]}
      />
      <AsCommand contract={roles.put} input={values} />
    </form>
  )
}
