// Admission by ResourceQuotas (plugin ResourceQuota, v1.35). It is the last plugin of the server: what another plugin
// refuses is not charged.
import type { AdmissionPlugin } from '../plugin.ts'
import type { QuotaLedger } from './quota-ledger.ts'

/** Returns the plugin; it charges writes to the quotas of their namespace. */
export function resourceQuotaPlugin(ledger: QuotaLedger): AdmissionPlugin {
  return { name: 'ResourceQuota', validate: (attributes) => ledger.charge(attributes) }
}
