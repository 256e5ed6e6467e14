// The settings of plugins.

/** The settings of one plugin. */
interface PluginEntry {
  /** Absent: true. */
  enabled?: boolean;
  /** `allowPromptInjection: false`: it must not add text to prompts. */
  hooks?: { allowPromptInjection?: boolean };
  /** The plugin's own settings: it is given them as they are. */
  config?: Record<string, unknown>;
}

export interface PluginSettings {
  /** Absolute paths of modules, in the order in which they are loaded. */
  modules: string[];
  /** By the id of the plugin. */
  entries: Record<string, PluginEntry>;
}
