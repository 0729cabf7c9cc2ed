"""HTTP answers that are not pages of the console: redirects and error pages."""
