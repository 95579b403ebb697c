"""Static files under hashed names, ES module imports included."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStatic(CompressedManifestStaticFilesStorage):
    """Rewrites `import` and `export … from` in modules; worklet addresses come from the template."""

    support_js_module_import_aggregation = True
    # An address changes with those of what is imported: each pass carries it one import further.
    max_post_process_passes = 24
    manifest_strict = False
