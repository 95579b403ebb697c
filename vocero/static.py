"""Static files under hashed names, ES module imports included."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStatic(CompressedManifestStaticFilesStorage):
    """Rewrites `import` and `export … from` in modules; worklet addresses come from the template."""

    support_js_module_import_aggregation = True
    manifest_strict = False
